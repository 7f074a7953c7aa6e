package cli

import "testing"

func TestURLsAreSplitAsTheProxySeesThem(t *testing.T) {
	for _, tt := range []struct{ url, origin, target, fault string }{
		{url: "https://a.example/x?y#z", origin: "https://a.example", target: "/x?y"},
		{url: "HTTP://A.Example.:80", origin: "http://a.example", target: "/"},
		{url: "https://a.example:8443?q", origin: "https://a.example:8443", target: "/?q"},
		{url: "https://a.example;p", origin: "https://a.example", target: "/;p"},
		{url: "https://[::1]:443/x", origin: "https://[::1]", target: "/x"},
		{url: "https://a.example//x", origin: "https://a.example", target: "//x"},
		{url: "/x?y", origin: "://:", target: "/x?y"},
		{url: "//x/y", origin: "://:", target: "//x/y"},
		{url: "a.example/x", fault: "not a URL with http:// or https://"},
		{url: "ftp://a.example/x", fault: `scheme "ftp" is not http or https`},
		{url: "https://a.example:99999/x", fault: `port "99999" is not between 1 and 65535`},
		{url: "", fault: "not a URL with http:// or https://"},
	} {
		o, target, err := splitURL(tt.url)
		if tt.fault != "" {
			if err == nil || err.Error() != tt.fault {
				t.Errorf("%q: %v, want the fault %s", tt.url, err, tt.fault)
			}
			continue
		}
		if err != nil || o.String() != tt.origin || target != tt.target {
			t.Errorf("%q: %s %s %v, want %s %s", tt.url, o, target, err, tt.origin, tt.target)
		}
	}
}

func TestWhatOthersWroteIsShownWithoutItsControls(t *testing.T) {
	for text, want := range map[string]string{
		"Disallow: /x":     "Disallow: /x",
		"/café \"x\" \\":   "/café \"x\" \\",
		"/x\x1b[2J":        `"/x\x1b[2J"`,
		"/x\xff":           `"/x\xff"`,
		"/x\u202e":         `"/x\u202e"`,
		"a\nallowed  /all": `"a\nallowed  /all"`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}
