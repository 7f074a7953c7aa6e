package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// beside makes a file beside the configuration at path.
func beside(t *testing.T, path, name, text string) string {
	t.Helper()
	file := filepath.Join(filepath.Dir(path), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnOverridesFileIsReadFromTheConfigurationsFolder(t *testing.T) {
	path := write(t, but("action: file")+"    file: a-robots.txt\n")
	const text = "User-agent: *\nDisallow: /private/\n"
	file := beside(t, path, "a-robots.txt", text)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Overrides[0].File; got != file {
		t.Errorf("the file is %s, want %s", got, file)
	}
	if body, err := c.Overrides[0].ReadRules(c.Robots.Limit); err != nil || string(body) != text {
		t.Errorf("it has %q, %v", body, err)
	}
}

func TestAnOverridesFileIsReadWholeOrNotAtAll(t *testing.T) {
	path := write(t, but("action: file")+"    file: a-robots.txt\n")
	const text = "User-agent: *\nDisallow: /private/\n"
	most := text + strings.Repeat("#", 500<<10-len(text))
	file := beside(t, path, "a-robots.txt", most)
	if _, err := Load(path); err != nil {
		t.Errorf("of just the limit: %v", err)
	}
	beside(t, path, "a-robots.txt", most+"\n")
	want := fmt.Sprintf("%s:7: overrides[0].file: %q has more octets than a robots.txt of which all counts (robots.limit, 500KiB); shorten it, or raise the limit", path, file)
	if _, err := Load(path); err == nil || err.Error() != want {
		t.Errorf("one octet more: %v, want %s", err, want)
	}
	if err := os.WriteFile(path, []byte("robots: {limit: 1MiB}\n"+but("action: file")+"    file: a-robots.txt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Errorf("with the limit raised: %v", err)
	}
}

func TestFilesThatWouldAllowEverythingAreRefused(t *testing.T) {
	for why, text := range map[string]string{
		"empty":           "",
		"a comment":       "# User-agent: *\n",
		"a page":          "<!doctype html><html><body>User-agent: *</body></html>\n",
		"rules alone":     "Disallow: /\n",
		"UTF-16":          "U\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00",
		"a sitemap alone": "Sitemap: https://a.example/sitemap.xml\n",
	} {
		path := write(t, but("action: file")+"    file: a-robots.txt\n")
		beside(t, path, "a-robots.txt", text)
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), `has no line "User-agent: NAME"`) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func TestExpiredOverridesAreWarnedOfAndNoFault(t *testing.T) {
	c, err := Load(write(t, but("expires: 2026-03-31")+"  - {host: b.example, action: disallow, reason: r, owner: o}\n  - {host: c.example, action: allow, reason: r, owner: me, expires: 2027-01-01T12:00:00Z}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const (
		first  = "overrides[0]: the override for https://a.example by lab admin has no effect since its end on 2026-03-31; renew it or take it out"
		second = "overrides[2]: the override for c.example by me has no effect since its end on 2027-01-01T12:00:00Z; renew it or take it out"
	)
	for at, want := range map[string][]string{
		"2026-03-31T23:59:59Z": nil,
		"2026-04-01T00:00:00Z": {first},
		"2027-01-01T11:59:59Z": {first},
		"2027-01-01T12:00:00Z": {first, second},
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Warnings(now); !reflect.DeepEqual(got, want) {
			t.Errorf("at %s: %q, want %q", at, got, want)
		}
	}
}

func TestExpiriesReadAndPrintThemselves(t *testing.T) {
	for text, want := range map[string]string{
		"2027-03-31":                    "2027-04-01T00:00:00Z",
		"2028-02-28":                    "2028-02-29T00:00:00Z",
		"9999-12-31":                    "10000-01-01T00:00:00Z",
		"2027-03-31T12:00:00Z":          "2027-03-31T12:00:00Z",
		"2027-03-31T14:00:00+02:00":     "2027-03-31T12:00:00Z",
		"2027-03-31T12:00:00.999Z":      "2027-03-31T12:00:00Z",
		"2027-04-01T00:00:00Z":          "2027-04-01T00:00:00Z",
		"2027-04-01T02:00:00.000+02:00": "2027-04-01T00:00:00Z",
	} {
		var e, again Expiry
		if err := e.UnmarshalText([]byte(text)); err != nil || e.Time().Format(time.RFC3339) != want {
			t.Errorf("%s reads as %v, %v; want %s", text, e.Time(), err, want)
		}
		if err := again.UnmarshalText([]byte(e.String())); err != nil || again != e {
			t.Errorf("%s prints as %s, which reads as %v, %v", text, e, again, err)
		}
	}
	if never := Expiry(0); never.String() != "" || !never.Time().IsZero() {
		t.Errorf("never is %q, %v", never, never.Time())
	}
}

func TestTenThousandOverridesAreRead(t *testing.T) {
	var b strings.Builder
	b.WriteString("overrides:\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "  - origin: https://host%d.example\n    action: allow\n    reason: written consent of the site\n    reference: mail of 2026-10-02, ticket 4711\n    owner: lab admin\n    expires: 2027-03-31\n", i)
	}
	c, err := Load(write(t, b.String()))
	if err != nil || len(c.Overrides) != 10_000 {
		t.Errorf("%d were read, %v", len(c.Overrides), err)
	}
}
