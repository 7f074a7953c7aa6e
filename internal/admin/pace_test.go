package admin

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"heed/internal/pace"
)

// asked is a Pacer at whose a.example a request has just gone out, and two wait.
func asked(t *testing.T) *pace.Pacer {
	t.Helper()
	p := pace.New(pace.Config{})
	t.Cleanup(p.Close)
	for range 3 {
		turn := new(pace.Turn)
		if err := p.Ask(t.Context(), turn, pace.Request{Host: "a.example", Interval: time.Minute, Hold: time.Hour}); err != nil {
			t.Fatal(err)
		}
		_ = turn.Send(t.Context())
		t.Cleanup(turn.End)
	}
	return p
}

func TestPaceIsToldOnBothListeners(t *testing.T) {
	p := asked(t)
	server := httptest.NewServer(New(Config{Metrics: http.NotFoundHandler(), Version: "1.2.3", Ready: new(Readiness), Pace: p}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	socket := httptest.NewServer(NewControl(&kept{}, p))
	t.Cleanup(socket.Close)
	for name, c := range map[string]*Client{"the listener": At(u.Host), "the socket": {base: socket.URL, http: socket.Client()}} {
		s, err := c.Pace(t.Context(), "", 10)
		if err != nil || s.Waiting != 2 || len(s.Hosts) != 1 || s.Hosts[0].Host != "a.example" || s.Hosts[0].Cause != "crawl-delay" || s.Hosts[0].Interval != pace.Seconds(30*time.Second) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if s, err := c.Pace(t.Context(), "A.example.:8080", 0); err != nil || len(s.Hosts) != 1 {
			t.Errorf("%s: %+v, %v: the same host, spelt otherwise", name, s, err)
		}
		if s, err := c.Pace(t.Context(), "b.example", 0); err != nil || len(s.Hosts) != 0 || s.Waiting != 2 {
			t.Errorf("%s: %+v, %v: nobody asked that one", name, s, err)
		}
		if _, err := c.Pace(t.Context(), "", MostHosts+1); err == nil || !strings.Contains(err.Error(), "limit is \"1001\"; write a number from 0 to 1000") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatPaceIsAskedForWrongly(t *testing.T) {
	h := New(Config{Metrics: http.NotFoundHandler(), Version: "1.2.3", Ready: new(Readiness), Pace: asked(t)})
	for _, row := range []struct {
		query  string
		status int
		why    string
	}{
		{"", 200, ""},
		{"?limit=0", 200, "the numbers alone"},
		{"?limit=", 400, "no number"},
		{"?limit=-1", 400, "a negative one"},
		{"?limit=1e2", 400, "not a whole one, as it is written"},
		{"?limit=99999999999999999999", 400, "too long a one"},
		{"?host=http://a.example/", 400, "a URL"},
		{"?host=%00", 400, "no host"},
		{"?host=user@a.example", 400, "credentials"},
	} {
		if w := ask(h, "GET", "localhost", "/pace"+row.query); w.Code != row.status {
			t.Errorf("%s: %d, want %d: %s", row.query, w.Code, row.status, row.why)
		}
	}
	if w := ask(h, "GET", "rebound.example", "/pace"); w.Code != 421 {
		t.Errorf("a web page can read it: %d", w.Code)
	}
}
