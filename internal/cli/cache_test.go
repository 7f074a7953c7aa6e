package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"heed/internal/store"
)

const escape = "\x1b]0;title\a\x1b[31m"

func TestCacheShowsForeignTextWithoutWhatATerminalObeys(t *testing.T) {
	var b bytes.Buffer
	e := store.Entry{
		Origin: "https://a.example", Access: "unreachable", Error: escape, ETag: escape, LastModified: escape + "\xff",
		Charset: escape, Hops: []string{"https://b.example/" + escape, "a\nb"}, SHA256: "00",
	}
	if err := printEntry(&b, e); err != nil {
		t.Fatal(err)
	}
	b.Write(cleaned([]byte("User-agent: *\r\n" + escape + "\nDisallow:\t/é\n\x9b31m last")))
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 }); i >= 0 {
		t.Errorf("%q is left", b.String()[i:])
	}
	for _, line := range []string{"User-agent: *\n", `"\x1b]0;title`, "Disallow: /é\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is missing in\n%s", line, b.String())
		}
	}
}

func TestFreshnessIsSaidInAFewWords(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	hour := now.Add(time.Hour)
	for _, row := range []struct {
		e    store.Entry
		want string
	}{
		{store.Entry{FreshUntil: hour}, "until 2026-01-02 16:04Z"},
		{store.Entry{FreshUntil: now, StaleSince: now}, "stale since 2026-01-02 15:04Z"},
		{store.Entry{FreshUntil: now, StaleSince: now, Retry: hour, Attempts: 3}, "failed 3×, retry 2026-01-02 16:04Z"},
		{store.Entry{Retry: now, Attempts: 1}, "-"},
		{store.Entry{}, "-"},
	} {
		if got := freshness(row.e, now); got != row.want {
			t.Errorf("%+v: %q, want %q", row.e, got, row.want)
		}
	}
}
