package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/config"
	"heed/internal/dial"
	"heed/internal/logfile"
	"heed/internal/origin"
	"heed/internal/replay"
	"heed/internal/store"
	"heed/policy"
)

const replayedRobots = `User-agent: *
Disallow: /private/
Disallow: /*?q=
Allow: /private/open$

User-agent: ExampleBot
Disallow: /bots/
Allow: /private/

User-agent: r-curl
Disallow: /curl

User-agent: Mozilla
Disallow: /mozilla

Disalow: /x%20y
User-agent: NewsBot
Disallow: /news
`

// replayedOrigins answers for the robots.txt of each host in its own way.
func replayedOrigins(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	if r.URL.Path != "/robots.txt" {
		_, _ = io.WriteString(w, "page")
		return
	}
	if r.Host == "example.com:8443" {
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /$\n")
		return
	}
	switch host {
	case "missing.example":
		http.NotFound(w, r)
	case "refused.example":
		http.Error(w, "no", http.StatusForbidden)
	case "broken.example":
		http.Error(w, "fault", http.StatusInternalServerError)
	case "slow.example":
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, replayedRobots)
	case "latin.example":
		w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /caf\xe9\n")
	default:
		_, _ = io.WriteString(w, replayedRobots)
	}
}

var (
	replayedHosts  = []string{"rules.example", "missing.example", "refused.example", "broken.example", "latin.example", "gone.example", "allowed.example", "closed.example", "held.example", "ours.example", "old.example", "reported.example"}
	replayedAgents = []string{
		"User-Agent: ExampleBot/1.0\r\n", "User-Agent: Mozilla/5.0 (compatible; ExampleBot/0.1; +https://a.example)\r\n", "", "User-Agent: curl/8\r\n",
		"User-Agent: libcurl/8 r-curl/6 httr/1\r\n", "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n",
		"User-Agent: ExampleBot/1.0 helper/2.0\r\n", "User-Agent: ExampleBot\r\nUser-Agent: Mozilla/5.0 (X11; rv:1.0) Gecko/1\r\n", "User-Agent: Caf\xe9Bot \"quoted\" (NewsBot)\r\n",
	}
	replayedParts = []string{"/", "private/", "/private/open", "/bots/", "?q=1", "/%2e/", "..", "//", "/curl", "/mozilla", "news", "%70rivate", "/caf%e9", "/caf%c3%a9", "/robots.txt", "/x%20y", "page", "\\", "%2F"}
)

// replayedRequests are requests of all kinds, as they go over the wire.
func replayedRequests(random *rand.Rand) (all []string) {
	for range 400 {
		target := "/"
		for range 1 + random.IntN(4) {
			target += replayedParts[random.IntN(len(replayedParts))]
		}
		if random.IntN(40) == 0 {
			target += "\xe9"
		}
		host := replayedHosts[random.IntN(len(replayedHosts))]
		all = append(all, "GET http://"+host+target+" HTTP/1.1\r\nHost: "+host+"\r\n"+replayedAgents[random.IntN(len(replayedAgents))])
	}
	return append(all,
		"GET http://slow.example/private/x HTTP/1.1\r\nHost: slow.example\r\n",
		"GET http://slow.example/page HTTP/1.1\r\nHost: slow.example\r\n",
		"GET http://rules.example/robots.txt HTTP/1.1\r\nHost: rules.example\r\n",
		"GET http://closed.example/robots.txt HTTP/1.1\r\nHost: x\r\n",
		"OPTIONS http://rules.example HTTP/1.1\r\nHost: rules.example\r\n",
		"TRACE http://rules.example/private/ HTTP/1.1\r\nHost: rules.example\r\nMax-Forwards: 0\r\n",
		"GET http://heed.internal/ HTTP/1.1\r\nHost: heed.internal\r\n",
		"GET http://heed.internal/absent HTTP/1.1\r\nHost: heed.internal\r\n",
		"GET http://rules.example/%zz HTTP/1.1\r\nHost: rules.example\r\n",
		"GET http://rules.example/"+strings.Repeat("x", 20<<10)+" HTTP/1.1\r\nHost: rules.example\r\n",
		"CONNECT rules.example:25 HTTP/1.1\r\nHost: rules.example\r\n",
		"CONNECT example.com:8443 HTTP/1.1\r\nHost: x\r\nUser-Agent: curl/8\r\n",
		"CONNECT other.example:443 HTTP/1.1\r\nHost: x\r\nUser-Agent: ExampleBot/1\r\n",
	)
}

// replayedConfig is a configuration with something of all that decides.
func replayedConfig(t *testing.T, plain, secure *httptest.Server) config.Config {
	t.Helper()
	c := cached(t)
	c.AdminListen = config.Off
	c.Robots.Wait = config.Duration(100 * time.Millisecond)
	c.HTTPS.Mode = config.Tunnel
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	to := func(host, port string, l net.Addr) dial.ConnectTo {
		_, at, _ := net.SplitHostPort(l.String())
		return dial.ConnectTo{FromHost: host, FromPort: port, ToHost: "127.0.0.1", ToPort: at}
	}
	c.ConnectTo = []dial.ConnectTo{
		to("gone.example", "80", closed.Addr()), to("", "80", plain.Listener.Addr()), to("", "443", secure.Listener.Addr()), to("", "8443", secure.Listener.Addr()),
	}
	c.Upstream.Roots = filepath.Join(c.StateDir, "roots.pem")
	roots := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(c.Upstream.Roots, roots, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.StateDir, "ours.txt")
	if err := os.WriteFile(file, []byte("User-agent: *\nDisallow: /bots/\n\nUser-agent: mozilla\nDisallow: /mozilla\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ends := config.Expiry(time.Now().Add(time.Hour).Unix())
	c.Overrides = []config.Override{
		{Host: "allowed.example", Action: "allow", Reason: "r", Owner: "o", Expires: ends},
		{Host: "closed.example", Action: "disallow", Reason: "r", Owner: "o"},
		{Host: "held.example", Action: "unavailable", Reason: "r", Owner: "o", Expires: ends},
		{Host: "ours.example", Action: "file", File: file, Reason: "r", Owner: "o", Expires: ends},
		{Host: "old.example", Action: "disallow", Reason: "r", Owner: "o", Expires: 1},
	}
	return c
}

// runReplayed has a heed take the requests, and returns its log.
func runReplayed(t *testing.T, c config.Config, requests []string) []byte {
	t.Helper()
	var log bytes.Buffer
	out := logfile.New(logfile.Config{Out: &log})
	a, err := Start(t.Context(), c, Options{Log: zerolog.New(out).Hook(logfile.Stamp{}), Lines: out, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { end <- a.Run(ctx) }()
	var asking sync.WaitGroup
	for worker := range 4 {
		asking.Go(func() {
			for i := worker; i < len(requests); i += 4 {
				sendRaw(t, a.ProxyAddr(), requests[i])
			}
		})
	}
	asking.Wait()
	openTunnel(t, a.ProxyAddr())
	stop()
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return log.Bytes()
}

func sendRaw(t *testing.T, addr, request string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, request+"Connection: close\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: request[:strings.IndexByte(request, ' ')]}); err == nil && !strings.HasPrefix(request, "CONNECT") {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// openTunnel sends a request through an unread tunnel, if there is one.
func openTunnel(t *testing.T, addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\nUser-Agent: ExampleBot/1\r\n\r\n")
	r := bufio.NewReader(conn)
	if resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"}); err != nil || resp.StatusCode != 200 {
		t.Errorf("the tunnel: %v, %v", resp, err)
		return
	}
	inside := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	_, _ = io.WriteString(inside, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	_, _ = io.Copy(io.Discard, inside)
}

// TestReplayWithoutAChangeChangesNothing: whatever was decided, of whom and why,
// over what heed keeps and over what origins say, with the configuration of the
// time.
func TestReplayWithoutAChangeChangesNothing(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(replayedOrigins))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(replayedOrigins))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	secure.StartTLS()
	defer secure.Close()
	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	seen := map[string]bool{}
	for i, tt := range []struct {
		why string
		set func(*config.Config)
	}{
		{"as it comes", func(*config.Config) {}},
		{"report mode", func(c *config.Config) { c.Mode = config.Report }},
		{"modes by origin", func(c *config.Config) {
			c.Modes = []config.OriginMode{{Host: "reported.example", Mode: config.Report}, {Host: "closed.example", Mode: config.Report}}
		}},
		{"caution", func(c *config.Config) { c.Policy.Cautious = true }},
		{"refusals count", func(c *config.Config) { c.Robots.Refused = config.Disallowed }},
		{"a client with a token, in report mode", func(c *config.Config) {
			c.Clients.Named = []config.Client{{Name: "news", Addresses: here, Token: "NewsBot", Mode: config.Report}}
		}},
		{"a client with a field of its own, and caution", func(c *config.Config) {
			c.Policy.Cautious = true
			c.Clients.Named = []config.Client{{Name: "news", Addresses: here, UserAgent: "Mozilla/5.0 (compatible; NewsBot/1)"}}
		}},
		{"who asks must say so", func(c *config.Config) { c.Identity.Require = config.RequireToken }},
		{"and that is reported", func(c *config.Config) { c.Identity.Require, c.Mode = config.RequireToken, config.Report }},
	} {
		t.Run(tt.why, func(t *testing.T) {
			c := replayedConfig(t, plain, secure)
			tt.set(&c)
			lines := runReplayed(t, c, replayedRequests(rand.New(rand.NewPCG(1, uint64(i)))))
			for line := range bytes.Lines(lines) {
				for _, member := range []string{"verdict", "reason", "report", "also", "user_agent", "override_action"} {
					if _, rest, has := bytes.Cut(line, []byte(`"`+member+`":`)); has {
						value, _, _ := bytes.Cut(rest, []byte(`,"`))
						seen[member+" "+string(value)] = true
					}
				}
			}
			fetcher, err := NewBodyFetcher(c, "1.2.3")
			if err != nil {
				t.Fatal(err)
			}
			defer fetcher.Close()
			what, err := NewReplay(c)
			if err != nil {
				t.Fatal(err)
			}
			reading := NewReading(c, policy.RFC9309)
			for name, robots := range map[string]replay.Robots{
				"kept":    RobotsKept(reading, store.Reader{Path: CacheFile(c)}),
				"fetched": RobotsFetched(reading, fetcher),
			} {
				what.Robots = replay.Remember(robots, 64<<20)
				sameAgain(t, name, lines, what)
			}
		})
	}
	for _, want := range []string{
		`verdict "forwarded"`, `verdict "denied"`, `verdict "answered"`, `report true`, `reason "disallowed"`, `reason "override"`, `reason "robots-restricted"`,
		`reason "robots-unreachable"`, `reason "robots-pending"`, `reason "connection-refused"`, `reason "identity"`, `reason "bad-request"`, `reason "uri-too-long"`, `reason "port-refused"`,
		`override_action "allow"`, `override_action "disallow"`, `override_action "unavailable"`, `override_action "file"`,
	} {
		if !seen[want] {
			t.Errorf("no line has the %s", want)
		}
	}
}

// TestWhoStandsInTheFileAloneIsNobodyElse: such a client may ask from an address
// at which those without credentials are another.
func TestWhoStandsInTheFileAloneIsNobodyElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(file, []byte("guest:"+newsHash+"\nnews:"+shopHash+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	clients := config.Clients{Htpasswd: file, Named: []config.Client{
		{Name: "news", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Mode: config.Report},
	}}
	what, err := NewReplay(config.Config{Mode: config.Enforce, Clients: clients})
	if err != nil {
		t.Fatal(err)
	}
	what.Robots = robotsFunc(func(context.Context, origin.Origin) (*policy.Snapshot, error) {
		return &policy.Snapshot{Rules: policy.Compile([]byte("User-agent: *\nDisallow: /\n"), policy.Options{})}, nil
	})
	for _, tt := range []struct {
		why, client string
		allowed     int
	}{
		{"in the file alone", "guest", 0},
		{"in the configuration too", "news", 1},
		{"in neither, so by the address", "shop", 1},
	} {
		line := `{"id":"x","client":"10.0.0.1:1","channel":"plain","origin":"http://a.example","path":"/x","tokens":["ExampleBot"],"verdict":"denied","reason":"disallowed","client_name":"` +
			tt.client + `","message":"exchange"}`
		tally := replay.NewTally()
		if err := replay.Read(t.Context(), "log", strings.NewReader(line), what, tally, nil); err != nil {
			t.Fatal(err)
		}
		if s := tally.Summary(1); s.Requests != 1 || s.NowAllowed != tt.allowed {
			t.Errorf("%s: %+v", tt.why, s)
		}
	}
	clients.Htpasswd += ".absent"
	if _, err := NewReplay(config.Config{Clients: clients}); err == nil {
		t.Error("a file that is not there is taken for none")
	}
}

func sameAgain(t *testing.T, name string, log []byte, what replay.Config) {
	t.Helper()
	tally := replay.NewTally()
	err := replay.Read(t.Context(), "log", bytes.NewReader(log), what, tally, func(c *replay.Change) error {
		t.Errorf("%s: it changes: %+v\n%s", name, *c, lineOf(log, c.ID))
		return nil
	})
	s := tally.Summary(100)
	lossy, requests := bytes.Count(log, []byte(`\ufffd`)), bytes.Count(log, []byte(`"message":"exchange"`))-bytes.Count(log, []byte(`"verdict":"answered"`))
	if err != nil || s.Unread > 0 || s.Requests != requests || s.Moved > 0 || s.Marked > 0 || s.Same+s.Unknown != s.Requests || s.Unknown > lossy || s.Requests < 400 {
		t.Errorf("%s: %v, %+v; want %d requests", name, err, s, requests)
	}
}

func lineOf(log []byte, id string) string {
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(id)) {
			return string(line)
		}
	}
	return fmt.Sprintf("no line has the id %s", id)
}
