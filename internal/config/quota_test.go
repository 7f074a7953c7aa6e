package config

import (
	"strings"
	"testing"
)

// quotaOf is a file with a client of that quota, which begins in line 5.
func quotaOf(lines ...string) string {
	return "clients:\n  named:\n    - name: news\n      addresses: [10.1.0.0/16]\n      quota:\n        " + strings.Join(lines, "\n        ") + "\n"
}

func TestBadQuotasAreRefusedByTheirExactFault(t *testing.T) {
	const key = "clients.named[0].quota"
	for _, row := range []struct{ reason, file, fault string }{
		{"less than nothing", quotaOf("requests_per_minute: -1"), `FILE:6: ` + key + `.requests_per_minute: "-1" is not between 0 and 1000000`},
		{"more than memory is kept for", quotaOf("requests_per_minute: 1000001"), `FILE:6: ` + key + `.requests_per_minute: "1000001" is not between 0 and 1000000`},
		{"a part of a request", quotaOf("requests_per_minute: 1.5"), `FILE:6: ` + key + `.requests_per_minute: "1.5" is not a whole number; write for example 256`},
		{"a word", quotaOf("requests_per_day: many"), `FILE:6: ` + key + `.requests_per_day: "many" is not a whole number; write for example 256`},
		{"a day of less than nothing", quotaOf("requests_per_day: -5"), `FILE:6: ` + key + `.requests_per_day: "-5" is not between 0 and 1000000000`},
		{"a number without end", quotaOf("requests_per_day: 99999999999999999999"), `FILE:6: ` + key + `.requests_per_day: "99999999999999999999" is not a whole number; write for example 256`},
		{"octets without a unit", quotaOf("bytes_per_day: 1000"), `FILE:6: ` + key + `.bytes_per_day: "1000" is not a size; write for example 500KiB or 64MiB`},
		{"octets of less than nothing", quotaOf("bytes_per_day: -1GiB"), `FILE:6: ` + key + `.bytes_per_day: "-1GiB" is not a size; write for example 500KiB or 64MiB`},
		{"more octets than a field can tell", quotaOf("bytes_per_day: 524289GiB"), `FILE:6: ` + key + `.bytes_per_day: "524289GiB" is more than 524288GiB; leave the key out for no bound`},
		{"no value", quotaOf("requests_per_day:"), `FILE:6: ` + key + `.requests_per_day: no value; write one, or leave the key out for the default`},
		{"a key of another kind", quotaOf("requests_per_hour: 5"), `FILE:6: ` + key + `.requests_per_hour: no such key; did you mean "requests_per_day"?`},
		{"one number for all", strings.Replace(quotaOf(""), "quota:", "quota: 5", 1), `FILE:5: ` + key + `: not a section; write KEY: VALUE lines with the keys requests_per_minute, requests_per_day, bytes_per_day`},
		{"the same twice", quotaOf("requests_per_day: 5", "requests_per_day: 6"), `FILE:7: ` + key + `.requests_per_day: already set at FILE:6; keep one of them`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			path := write(t, row.file)
			want := strings.ReplaceAll(row.fault, "FILE", path)
			if _, err := Load(path); err == nil || err.Error() != want {
				t.Errorf("\n%s\nfault: %v\nwant:  %s", row.file, err, want)
			}
		})
	}
}

func TestQuotaOfNothingIsNoBound(t *testing.T) {
	for _, file := range []string{quotaOf("requests_per_minute: 0", "requests_per_day: 0", "bytes_per_day: 0B"), quotaOf("# nothing")} {
		c, err := Load(write(t, file))
		if err != nil || c.Clients.Named[0].Quota != (Quota{}) {
			t.Errorf("%v, %+v", err, c.Clients)
		}
	}
}
