package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/pace"
	"heed/internal/quota"
)

// bounded makes every client on this machine the client news, with these limits.
func bounded(l quota.Limits) (account *quota.Account, set func(*Config)) {
	account = quota.New(quota.Config{Clients: []quota.Client{{Name: "news", Limits: l}}}).Account("news")
	news := &agent.Client{Name: "news", Quota: account}
	return account, func(c *Config) {
		c.Clients = agent.NewClients([]agent.Known{{Client: news, Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	}
}

func leftOf(a *quota.Account, l quota.Limit) int64 { return a.State(time.Now()).Limits[l].Left }

// isLeft waits for what is counted when an exchange has ended.
func isLeft(t *testing.T, a *quota.Account, l quota.Limit, want int64) {
	t.Helper()
	eventually(t, strconv.FormatInt(want, 10)+" of "+l.String()+" are left", func() bool { return leftOf(a, l) == want })
}

// TestQuotaHoldsOnEveryChannel: what a robots.txt denies uses up nothing, what is
// refused neither; only heed's own answers tell what is left.
func TestQuotaHoldsOnEveryChannel(t *testing.T) {
	account, set := bounded(quota.Limits{quota.Day: 1000})
	r := start(t, set)
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", `"origin";r=7`)
		_, _ = io.WriteString(w, "page")
	}
	used := int64(0)
	for _, c := range newChannels(t, r, page) {
		t.Run(c.name, func(t *testing.T) {
			r.policies.set(c.origin, rules(c.origin, "User-agent: *\nDisallow: /private/\n"))
			get := func(path string) *http.Response {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.origin+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				return resp
			}
			denied := get("/private/a")
			if left := denied.Header.Get("RateLimit"); denied.StatusCode != 403 || !strings.HasPrefix(left, `"day";r=`+strconv.FormatInt(1000-used, 10)+`;t=`) {
				t.Errorf("%s, RateLimit %q after %d", denied.Status, left, used)
			}
			if resp := get("/a"); resp.StatusCode != 200 || resp.Header.Get("RateLimit") != `"origin";r=7` || resp.Header.Get("RateLimit-Policy") != "" {
				t.Errorf("%s %v", resp.Status, resp.Header)
			}
			used++
			if left := leftOf(account, quota.Day); left != 1000-used {
				t.Errorf("%d are left after %d", left, used)
			}
		})
	}
}

var (
	minuteLeft = regexp.MustCompile(`^"minute";r=0;t=(60|59), "day";r=8;t=[0-9]+, "bytes-day";r=[0-9]+;t=[0-9]+$`)
	minuteText = regexp.MustCompile(`Client news has used up its 2 requests in a minute: the next may go in (59s|1m0s); left are 8 of 10 requests until 00:00 UTC and [0-9]+ of 1000000 octets until 00:00 UTC\.`)
)

// TestRefusalSaysWhatIsLeft: in the status, the fields and the body.
func TestRefusalSaysWhatIsLeft(t *testing.T) {
	_, set := bounded(quota.Limits{quota.Minute: 2, quota.Day: 10, quota.Bytes: 1_000_000})
	r := start(t, set)
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	for range 2 {
		if a := r.get(t, o+"/"); a.StatusCode != 200 {
			t.Fatal(a.Status)
		}
		r.entry(t)
	}
	a := r.get(t, o+"/")
	if seconds := a.Header.Get("Retry-After"); a.StatusCode != 429 || seconds != "60" && seconds != "59" {
		t.Errorf("%s, Retry-After %q", a.Status, seconds)
	}
	if field := a.Header.Get("RateLimit-Policy"); field != `"minute";q=2;w=60, "day";q=10;w=86400, "bytes-day";q=1000000;w=86400;qu="content-bytes"` {
		t.Errorf("RateLimit-Policy: %s", field)
	}
	if field := a.Header.Get("RateLimit"); !minuteLeft.MatchString(field) {
		t.Errorf("RateLimit: %s", field)
	}
	if field := a.Header.Get("Robots-Decision"); !strings.HasPrefix(field, "allowed;") {
		t.Errorf("Robots-Decision: %s", field)
	}
	if field := a.Header.Get("Proxy-Status"); !strings.HasPrefix(field, `heed;error=http_request_error;details="Client news has used up`) {
		t.Errorf("Proxy-Status: %s", field)
	}
	if !minuteText.MatchString(a.body) || !strings.Contains(a.body, "quota in clients.named") {
		t.Errorf("the body is\n%s", a.body)
	}
	if e := r.entry(t); e.Verdict != audit.Denied || e.Reason != "quota" || !minuteText.MatchString("C"+e.Err[1:]+".") || !e.Decision.Allowed {
		t.Errorf("recorded as %+v", e)
	}
}

func TestWhatCountsAsARequest(t *testing.T) {
	const day = 100
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for _, row := range []struct {
		why    string
		ask    func(*testing.T, *rig) answer
		status int
		counts int64
	}{
		{"a page", func(t *testing.T, r *rig) answer { return r.get(t, o+"/") }, 200, 1},
		{"a robots.txt that the client asks for itself", func(t *testing.T, r *rig) answer { return r.get(t, o+"/robots.txt") }, 200, 1},
		{"an origin that refuses the connection was asked all the same", func(t *testing.T, r *rig) answer { return r.get(t, "http://"+closed.Addr().String()+"/") }, 502, 1},
		{"an address that heed connects to for nobody", func(t *testing.T, r *rig) answer { return r.get(t, "http://10.0.0.1/") }, 403, 0},
		{"heed's own page", func(t *testing.T, r *rig) answer { return r.get(t, "http://"+Host+"/") }, 200, 0},
		{"what cannot be read", func(t *testing.T, r *rig) answer { return r.send(t, "GET http://a.example/ HTTP/1.1\r\n\r\n") }, 400, 0},
		{"what a robots.txt denies", func(t *testing.T, r *rig) answer {
			r.policies.set(o, rules(o, "User-agent: *\nDisallow: /\n"))
			return r.get(t, o+"/")
		}, 403, 0},
		{"a request that ends at heed", func(t *testing.T, r *rig) answer {
			return r.send(t, request("OPTIONS", o+"/", "Max-Forwards: 0"))
		}, 200, 0},
		{"a CONNECT that cannot be connected", func(t *testing.T, r *rig) answer {
			return r.send(t, "CONNECT "+closed.Addr().String()+" HTTP/1.1\r\nHost: a\r\n\r\n")
		}, 502, 1},
		{"a request inside a tunnel, and not the CONNECT besides", func(t *testing.T, r *rig) answer {
			return r.connect(t, hostOf(o)).send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n")
		}, 200, 1},
		{"each of the requests inside a tunnel", func(t *testing.T, r *rig) answer {
			w := r.connect(t, hostOf(o))
			w.send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n")
			return w.send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n")
		}, 200, 2},
	} {
		t.Run(row.why, func(t *testing.T) {
			account, set := bounded(quota.Limits{quota.Minute: day, quota.Day: day})
			r := start(t, set, modeIs(Tunnel))
			if a := row.ask(t, r); a.StatusCode != row.status {
				t.Errorf("%s: %s", a.Status, a.body)
			}
			isLeft(t, account, quota.Day, day-row.counts)
			isLeft(t, account, quota.Minute, day-row.counts)
		})
	}
}

// TestUnreadTunnelIsOneRequest: its octets count when it has ended; where nothing
// is left the CONNECT is refused.
func TestUnreadTunnelIsOneRequest(t *testing.T) {
	account, set := bounded(quota.Limits{quota.Day: 2, quota.Bytes: 1 << 20})
	r := start(t, set, modeIs(Tunnel))
	o := newTLSOrigin(t, false, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	w := r.connect(t, hostOf(o))
	c := tls.Client(w.Conn, &tls.Config{RootCAs: originRoots(), ServerName: "127.0.0.1"})
	inside := &wire{c, bufio.NewReader(c)}
	for range 3 {
		if a := inside.send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n"); len(a.body) != 2<<20 {
			t.Fatalf("%s: what is under way was cut off after %d octets", a.Status, len(a.body))
		}
	}
	if requests, octets := leftOf(account, quota.Day), leftOf(account, quota.Bytes); requests != 1 || octets != 1<<20 {
		t.Errorf("while it is open %d requests and %d octets are left", requests, octets)
	}
	_ = c.Close()
	isLeft(t, account, quota.Bytes, 0)
	a := r.send(t, "CONNECT "+hostOf(o)+" HTTP/1.1\r\nHost: a\r\n\r\n")
	if a.StatusCode != 429 || !strings.Contains(a.Header.Get("RateLimit"), `"bytes-day";r=0;`) || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", a.Status, a.Header)
	}
	if left := leftOf(account, quota.Day); left != 1 {
		t.Errorf("%d requests are left", left)
	}
}

// TestInterceptedTunnelUsesUpNothingByItself: it is opened where nothing is left,
// so that the refusal is seen inside.
func TestInterceptedTunnelUsesUpNothingByItself(t *testing.T) {
	account, set := bounded(quota.Limits{quota.Day: 1})
	r := start(t, set)
	o := newTLSOrigin(t, false, func(http.ResponseWriter, *http.Request) {})
	for _, status := range []int{200, 429} {
		w := r.secure(t, r.connect(t, hostOf(o)), "127.0.0.1")
		if a := w.send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n\r\n"); a.StatusCode != status {
			t.Errorf("%s, want %d", a.Status, status)
		}
	}
	if left := leftOf(account, quota.Day); left != 0 {
		t.Errorf("%d are left", left)
	}
}

// TestOctetsOfBodiesCount: those of both, and of nothing else.
func TestOctetsOfBodiesCount(t *testing.T) {
	account, set := bounded(quota.Limits{quota.Bytes: 10_000})
	r := start(t, set)
	o := newOrigin(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = w.Write(make([]byte, 1000))
	})
	r.policies.set(o, rules(o, "User-agent: *\nDisallow: /private/\n"))
	for _, row := range []struct {
		request string
		left    int64
	}{
		{request("GET", o+"/"), 9000},
		{request("HEAD", o+"/"), 9000},
		{request("POST", o+"/", "Content-Length: 500") + strings.Repeat("x", 500), 7500},
		{request("GET", o+"/private/"), 7500},
	} {
		r.send(t, row.request)
		isLeft(t, account, quota.Bytes, row.left)
	}
}

// TestNoMoreThanIsLeftReachesTheOrigin, whatever is asked at once.
func TestNoMoreThanIsLeftReachesTheOrigin(t *testing.T) {
	const left, asked = 50, 200
	_, set := bounded(quota.Limits{quota.Minute: left})
	r := start(t, set)
	var arrived atomic.Int64
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) { arrived.Add(1) })
	client := r.client(t, false)
	var all sync.WaitGroup
	var refused atomic.Int64
	for range 20 {
		all.Go(func() {
			for range asked / 20 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o+"/", nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
				if resp.StatusCode == 429 {
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	if arrived.Load() != left || refused.Load() != asked-left {
		t.Errorf("%d arrived and %d were refused of %d, want %d and %d", arrived.Load(), refused.Load(), asked, left, asked-left)
	}
}

// TestWebSocketIsOneRequest, with all octets that pass behind its handshake.
func TestWebSocketIsOneRequest(t *testing.T) {
	account, set := bounded(quota.Limits{quota.Minute: 10, quota.Bytes: 100_000})
	r := start(t, set)
	o := newOrigin(t, echo(t))
	conn, _, err := websocket.Dial(t.Context(), o+"/socket", &websocket.DialOptions{HTTPClient: &http.Client{Transport: r.client(t, false).Transport}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	for range 3 {
		if err := conn.Write(t.Context(), websocket.MessageText, make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if requests, octets := leftOf(account, quota.Minute), leftOf(account, quota.Bytes); requests != 9 || octets != 100_000 {
		t.Errorf("while it is open %d requests and %d octets are left", requests, octets)
	}
	_ = conn.CloseNow()
	e := r.entry(t)
	if e.BytesIn < 30_000 || e.BytesOut < 30_000 {
		t.Errorf("%d octets in and %d out", e.BytesIn, e.BytesOut)
	}
	isLeft(t, account, quota.Bytes, 100_000-e.BytesIn-e.BytesOut)
}

// TestWhatComesTooEarlyUsesUpNothing: a request that is not in its turn is given
// back, and so is a tunnel.
func TestWhatComesTooEarlyUsesUpNothing(t *testing.T) {
	account, set := bounded(quota.Limits{quota.Minute: 10, quota.Day: 10})
	r := start(t, set, modeIs(Tunnel), pacedBy(t, pace.Config{MaxDelay: time.Hour}, time.Millisecond))
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	r.policies.set(o, rules(o, delayed))
	secure := newTLSOrigin(t, false, func(http.ResponseWriter, *http.Request) {})
	r.policies.set(secure, rules(secure, delayed))
	for i, status := range []int{200, 429, 429} {
		if a := r.get(t, o+"/"); a.StatusCode != status || status == 429 && !strings.HasPrefix(a.Header.Get("RateLimit"), `"minute";r=`) {
			t.Errorf("request %d: %s %v", i, a.Status, a.Header)
		}
	}
	if a := r.send(t, "CONNECT "+hostOf(secure)+" HTTP/1.1\r\nHost: a\r\n\r\n"); a.StatusCode != 429 {
		t.Errorf("%s", a.Status)
	}
	isLeft(t, account, quota.Day, 9)
	isLeft(t, account, quota.Minute, 9)
}
