package proxy

import (
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

// FuzzItemIsAsHTTPSFVWritesIt: whatever a file has in it.
// TestCleanLooksAtEachOctet, wherever it stands.
func TestCleanLooksAtEachOctet(t *testing.T) {
	for c := range 256 {
		for length := range 20 {
			for at := range length {
				for _, other := range []string{" ", "~"} {
					s := strings.Repeat(other, at) + string([]byte{byte(c)}) + strings.Repeat(other, length-at-1)
					if want := c >= ' ' && c < 0x7f; clean(s) != want {
						t.Errorf("clean(%q) is %v", s, !want)
					}
				}
			}
		}
	}
}

func FuzzItemIsAsHTTPSFVWritesIt(f *testing.F) {
	f.Add("Disallow: /private/", "examplebot", 12)
	f.Add("a \"quoted\" and a \\", "caf\u00e9 % \u202e", -1)
	f.Add("\x00\x1f\x7f\xff", "", 0)
	f.Fuzz(func(t *testing.T, a, b string, n int) {
		n %= 1_000_000_000_000_000 // an Integer has fifteen digits
		want := httpsfv.NewItem(httpsfv.Token("disallowed"))
		got := item("disallowed").token("error", "dns_error")
		want.Params.Add("error", httpsfv.Token("dns_error"))
		for name, text := range map[string]string{"a": a, "b": b} {
			got = got.text(name, text)
			switch {
			case text == "":
			case clean(text):
				want.Params.Add(name, text)
			default:
				want.Params.Add(name, httpsfv.DisplayString(text))
			}
		}
		if got = got.number("n", n); n != 0 {
			want.Params.Add("n", int64(n))
		}
		if text, err := httpsfv.Marshal(want); err != nil || string(got) != text {
			t.Errorf("the item is\n%s, want\n%s, %v", got, text, err)
		}
	})
}
