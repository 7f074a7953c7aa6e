package dial

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/armon/go-socks5"
)

func TestRequestsGoToTheProxyInTheFormThatItTakes(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Proxy-Authorization"]) > 0 {
			t.Error("the origin was sent the proxy's credentials")
		}
		_, _ = io.WriteString(w, r.Host+" "+r.RequestURI)
	}))
	defer origin.Close()
	at := origin.Listener.Addr().String()
	p := newHTTPProxy(t, false, map[string]string{"a.example": at, "a.example:80": at, "b.example:8080": at})
	p.auth = "lab:secret"
	tr := newDialer(t, Config{Proxy: p.at(t, "lab:secret@")}).Transport(&http.Transport{})
	defer tr.CloseIdleConnections()
	for _, r := range []struct {
		why     string
		url     *url.URL
		upgrade string
		asked   string
		seen    string
	}{
		{"a request", &url.URL{Scheme: "http", Host: "a.example", Path: "/x y"}, "", "GET http://a.example/x%20y", "a.example /x%20y"},
		{"another port", &url.URL{Scheme: "http", Host: "b.example:8080", Path: "/"}, "", "GET http://b.example:8080/", "b.example:8080 /"},
		{"a path as it came", &url.URL{Scheme: "http", Host: "a.example", Opaque: "/%7Ex|y", RawQuery: "q=1"}, "", "GET http://a.example/%7Ex|y?q=1", "a.example /%7Ex|y?q=1"},
		{"two slashes", &url.URL{Scheme: "http", Host: "a.example", Opaque: "//a.example//x"}, "", "GET http://a.example//x", "a.example //x"},
		{"a WebSocket", &url.URL{Scheme: "http", Host: "a.example", Path: "/ws"}, "websocket", "CONNECT a.example:80", "a.example /ws"},
	} {
		req := request(t, "http://a.example/")
		req.URL, req.Host = r.url, r.url.Host
		if r.upgrade != "" {
			req.Header["Upgrade"] = []string{r.upgrade}
		}
		before := *r.url
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Errorf("%s: %v", r.why, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if asked := p.questions(); !slices.Equal(asked, []string{r.asked}) || string(body) != r.seen {
			t.Errorf("%s: the proxy was asked %q, the origin saw %q; want %q and %q", r.why, asked, body, r.asked, r.seen)
		}
		if *req.URL != before {
			t.Errorf("%s: the request was changed", r.why)
		}
	}
}

func TestThroughSOCKSEverythingIsAConnection(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }))
	defer origin.Close()
	_, p, _ := net.SplitHostPort(origin.Listener.Addr().String())
	s := newSOCKS(t, &socks5.Config{Resolver: socksNames{"a.example": net.IPv4(127, 0, 0, 1)}})
	tr := newDialer(t, Config{Proxy: mustProxy(t, "socks5://"+s), Resolver: noResolver(t)}).Transport(&http.Transport{})
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(request(t, "http://a.example:"+p+"/x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "/x" {
		t.Errorf("the origin saw %s", body)
	}
}

func TestWhoseAnswerItIs(t *testing.T) {
	for _, r := range []struct {
		why         string
		status      int
		header      http.Header
		page, robot bool // an answer of the origin's, for pages and for OriginsOnly
	}{
		{"404 that was passed on", 404, http.Header{"Via": {"1.1 gate"}}, true, true},
		{"404 of whomever, and no CONNECT", 404, http.Header{}, true, false},
		{"401 of tinyproxy, to wrong credentials", 401, http.Header{"Server": {"tinyproxy/1.11.1"}}, true, false},
		{"429 of whomever", 429, http.Header{}, true, true},
		{"500 of whomever", 500, http.Header{}, true, true},
		{"200 that came through proxies", 200, http.Header{"Proxy-Status": {"cache; hit"}}, true, true},
		{"404 with an error of the proxy's", 404, http.Header{"Proxy-Status": {`gate; error=http_request_denied`}}, true, false},
		{"an error of the last of two", 403, http.Header{"Proxy-Status": {`cdn, gate; error=destination_ip_prohibited; details="x"`}}, true, false},
		{"an error of one before the last, in another line", 404, http.Header{"Via": {"1.1 gate"}, "Proxy-Status": {"cdn; error=dns_error", "gate"}}, true, true},
		{"a Proxy-Status that cannot be read", 404, http.Header{"Via": {"1.1 gate"}, "Proxy-Status": {`"`}}, true, true},
		{"Squid's own page", 403, http.Header{"X-Squid-Error": {"ERR_ACCESS_DENIED 0"}}, true, false},
		{"407", 407, http.Header{"Proxy-Authenticate": {`Basic realm="x"`}}, false, false},
	} {
		p := newHTTPProxy(t, false, nil)
		p.own = func(w http.ResponseWriter, _ *http.Request) bool {
			for name, values := range r.header {
				w.Header()[name] = values
			}
			w.WriteHeader(r.status)
			return true
		}
		for _, originsOnly := range []bool{false, true} {
			want := r.page
			if originsOnly {
				want = r.robot
			}
			tr := newDialer(t, Config{Proxy: p.at(t, "")}).Transport(&http.Transport{})
			tr.OriginsOnly = originsOnly
			resp, err := tr.RoundTrip(request(t, "http://a.example/robots.txt"))
			var fault *ProxyError
			switch {
			case err == nil:
				_ = resp.Body.Close()
				if !want || resp.StatusCode != r.status {
					t.Errorf("%s (%t): taken for the origin's %d", r.why, originsOnly, resp.StatusCode)
				}
			case want || !errors.As(err, &fault) || fault.Status != r.status:
				t.Errorf("%s (%t): %v", r.why, originsOnly, err)
			}
			tr.CloseIdleConnections()
		}
	}
}

func TestAnAnswerThatMayBeTheProxysIsAskedForByCONNECT(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	defer origin.Close()
	p := newHTTPProxy(t, false, map[string]string{"a.example:80": origin.Listener.Addr().String()})
	p.own = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusNotFound)
		}
		return r.Method != http.MethodConnect
	}
	tr := newDialer(t, Config{Proxy: p.at(t, "")}).Transport(&http.Transport{})
	defer tr.CloseIdleConnections()
	tr.OriginsOnly = true
	resp, err := tr.RoundTrip(request(t, "http://a.example/robots.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if want := []string{"GET http://a.example/robots.txt", "CONNECT a.example:80"}; resp.StatusCode != http.StatusGone || !slices.Equal(p.questions(), want) {
		t.Errorf("the answer is %d, want the origin's 410 after %q", resp.StatusCode, want)
	}
}

func TestAProxyThatIsDownIsNamedInAbsoluteFormToo(t *testing.T) {
	proxy := scripted(t, "")
	proxy.Host = "127.0.0.1:1"
	tr := newDialer(t, Config{Proxy: proxy}).Transport(&http.Transport{})
	req := request(t, "http://a.example/")
	body := &closed{Reader: strings.NewReader("x")}
	req.Body = body
	_, err := tr.RoundTrip(req)
	var fault *ProxyError
	if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), "upstream proxy http://127.0.0.1:1: ") || !body.done {
		t.Errorf("err = %v, body closed %t", err, body.done)
	}
}

type closed struct {
	io.Reader
	done bool
}

func (c *closed) Close() error { c.done = true; return nil }

func TestTheEnvironmentsProxy(t *testing.T) {
	for _, r := range []struct {
		why, http, https, no string
		want                 string // the proxy, or the error
		direct               []string
		through              []string
	}{
		{"none", "", "", "", "", nil, nil},
		{"one for both", "http://proxy.example:3128", "http://proxy.example:3128", "", "http://proxy.example:3128", nil, []string{"a.example:443"}},
		{"without a scheme", "u:pw@proxy.example:3128", "u:pw@proxy.example:3128", "", "http://u:pw@proxy.example:3128", nil, []string{"a.example:80"}},
		{
			"exceptions", "socks5://p.example:1", "socks5://p.example:1", "lab.example, .b.example,10.0.0.0/8,c.example:8080", "socks5://p.example:1",
			[]string{"lab.example:80", "www.lab.example:443", "x.b.example:1", "10.2.3.4:80", "c.example:8080"},
			[]string{"a.example:80", "b.example:80", "c.example:80", "11.0.0.1:80"},
		},
		{"no proxy at all", "http://proxy.example:3128", "http://proxy.example:3128", "*", "http://proxy.example:3128", []string{"a.example:80"}, nil},
		{"two", "http://a.example:1", "http://b.example:1", "", "name two", nil, nil},
		{"one is missing", "", "http://u:hunter2@b.example:1", "", "one is not set", nil, nil},
		{"one that cannot be read", "http://u:hunter2@b.example", "http://u:hunter2@b.example", "", `HTTPS_PROXY: proxy "http://REDACTED@b.example" has no port`, nil, nil},
	} {
		for name, value := range map[string]string{"HTTP_PROXY": r.http, "HTTPS_PROXY": r.https, "NO_PROXY": r.no, "http_proxy": "", "https_proxy": "", "no_proxy": "", "REQUEST_METHOD": "GET"} {
			t.Setenv(name, value)
		}
		proxy, direct, err := ProxyFromEnvironment()
		switch {
		case err != nil:
			if r.want == "" || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", r.why, err)
			}
			continue
		case proxy == nil:
			if r.want != "" {
				t.Errorf("%s: none", r.why)
			}
			continue
		case proxy.String() != r.want:
			t.Errorf("%s: %s", r.why, proxy)
		}
		for _, to := range append(slices.Clone(r.direct), r.through...) {
			host, port, _ := net.SplitHostPort(to)
			if got := direct(host, port); got != slices.Contains(r.direct, to) {
				t.Errorf("%s: %s is direct: %t", r.why, to, got)
			}
		}
	}
}
