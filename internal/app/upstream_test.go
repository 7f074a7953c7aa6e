package app

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/config"
)

// gate is an HTTP proxy that lets no CONNECT through and answers for all
// origins itself.
type gate struct {
	*httptest.Server
	answer http.HandlerFunc

	mu    sync.Mutex
	asked []string
}

func newGate(t *testing.T, answer http.HandlerFunc) *gate {
	t.Helper()
	g := &gate{answer: answer}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.asked = append(g.asked, r.Method+" "+r.RequestURI)
		g.mu.Unlock()
		if r.Method == http.MethodConnect {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gate) questions() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.asked, ", ")
}

// through asks heed for a URL.
func through(t *testing.T, a *App, url string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", a.ProxyAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, "GET "+url+" HTTP/1.1\r\nHost: x\r\nUser-Agent: ExampleBot/1\r\nConnection: close\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestRobotsAndPagesGoThroughTheUpstreamProxy(t *testing.T) {
	g := newGate(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Via", "1.1 gate")
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private")
		default:
			_, _ = io.WriteString(w, "a page of "+r.Host)
		}
	})
	c := settings(t)
	c.Upstream.Proxy = strings.Replace(g.URL, "http://", "http://lab:hunter2@", 1)
	var log bytes.Buffer
	a, err := Start(t.Context(), c, Options{Log: zerolog.New(&log), Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if said := log.String(); !strings.Contains(said, `"proxy":"`+g.URL+`"`) || !strings.Contains(said, "it resolves names") || strings.Contains(said, "hunter2") {
		t.Errorf("at the start the log says %s", said)
	}
	a.closeListeners()
	closeStore(a.store, a.log)

	a, end := begin(t, c)
	if resp, body := through(t, a, "http://nowhere.example/page"); resp.StatusCode != 200 || body != "a page of nowhere.example" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := through(t, a, "http://nowhere.example/private"); resp.StatusCode != 403 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if want := "GET http://nowhere.example/robots.txt, GET http://nowhere.example/page"; g.questions() != want {
		t.Errorf("the proxy was asked %s; want %s", g.questions(), want)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestARefusalOfTheUpstreamProxyIsNoPermission(t *testing.T) {
	for _, r := range []struct {
		why    string
		answer http.HandlerFunc
		url    string
		asked  string
	}{
		{"403 to a CONNECT", func(http.ResponseWriter, *http.Request) {}, "https://a.example/", "CONNECT a.example:443"},
		{"404 that may be its own", http.NotFound, "http://a.example/", "GET http://a.example/robots.txt, CONNECT a.example:80"},
		{"404 that it says is its own", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Proxy-Status"] = []string{"gate; error=http_request_denied"}
			w.WriteHeader(http.StatusNotFound)
		}, "http://a.example/", "GET http://a.example/robots.txt"},
		{"407", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }, "http://a.example/", "GET http://a.example/robots.txt"},
	} {
		g := newGate(t, r.answer)
		c := settings(t)
		c.Upstream.Proxy = g.URL
		a, end := begin(t, c)
		resp, body := through(t, a, r.url)
		if resp.StatusCode != 502 || !strings.Contains(body, "pstream proxy "+g.URL) || !strings.Contains(resp.Header.Get("Proxy-Status"), "destination_unavailable") {
			t.Errorf("%s: %d %v %s", r.why, resp.StatusCode, resp.Header, body)
		}
		if g.questions() != r.asked {
			t.Errorf("%s: the proxy was asked %s; want %s", r.why, g.questions(), r.asked)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

func TestHeedDoesNotStartWithItselfAsUpstreamProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := l.Addr().String()
	_ = l.Close()
	for name, value := range map[string]string{"HTTP_PROXY": "http://u:hunter2@" + own, "HTTPS_PROXY": "http://u:hunter2@" + own, "http_proxy": "", "https_proxy": ""} {
		t.Setenv(name, value)
	}
	for _, proxy := range []string{config.Environment, "socks5://" + own} {
		c := settings(t)
		c.Listen, c.Upstream.Proxy = own, proxy
		_, err := Start(t.Context(), c, Options{Log: zerolog.Nop()})
		if err == nil || !strings.Contains(err.Error(), own+" is heed itself") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", proxy, err)
		}
		again, err := net.Listen("tcp", own)
		if err != nil {
			t.Fatalf("a listener was left open: %v", err)
		}
		_ = again.Close()
	}
}

func TestTheEnvironmentsProxyIsUsedOnlyWhenTheConfigurationSaysSo(t *testing.T) {
	g := newGate(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Via", "1.1 gate")
		http.NotFound(w, r)
	})
	for name, value := range map[string]string{"HTTP_PROXY": g.URL, "HTTPS_PROXY": g.URL, "NO_PROXY": "", "http_proxy": "", "https_proxy": "", "no_proxy": ""} {
		t.Setenv(name, value)
	}
	for _, r := range []struct{ proxy, asked string }{
		{"", ""},
		{config.Environment, "GET http://nowhere.invalid/robots.txt, GET http://nowhere.invalid/"},
	} {
		c := settings(t)
		c.Upstream.Proxy = r.proxy
		a, end := begin(t, c)
		through(t, a, "http://nowhere.invalid/")
		if g.questions() != r.asked {
			t.Errorf("upstream.proxy %q: the proxy was asked %q; want %q", r.proxy, g.questions(), r.asked)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}
