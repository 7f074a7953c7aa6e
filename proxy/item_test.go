package proxy

import (
	"testing"

	"github.com/dunglas/httpsfv"
)

// FuzzItemIsAsHTTPSFVWritesIt: whatever a file has in it.
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
