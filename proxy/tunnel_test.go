package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"heed/internal/agent"
	"heed/internal/audit"
)

// TestTunnelIsRelayedUnread: with the origin's own certificate, both ways, and
// counted.
func TestTunnelIsRelayedUnread(t *testing.T) {
	r := start(t, modeIs(Tunnel))
	o := newTLSOrigin(t, false, func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		_, _ = w.Write(b)
	})
	c := tls.Client(r.connect(t, hostOf(o)).Conn, &tls.Config{RootCAs: originRoots(), ServerName: "127.0.0.1"})
	w := &wire{c, bufio.NewReader(c)}
	body := strings.Repeat("x", 1<<20)
	a := w.send(t, "POST / HTTP/1.1\r\nHost: "+hostOf(o)+"\r\nContent-Length: 1048576\r\nConnection: close\r\n\r\n"+body)
	if a.body != body || a.Header.Get("Via") != "" {
		t.Errorf("%s, %d octets, Via %q", a.Status, len(a.body), a.Header.Get("Via"))
	}
	_ = c.Close()
	e := r.entry(t)
	if e.Channel != audit.Connect || e.Verdict != audit.Forwarded || e.Reason != "allowed" || e.Status != 200 || e.Target != hostOf(o) {
		t.Errorf("recorded as %+v", e)
	}
	if e.BytesIn < 1<<20 || e.BytesOut < 1<<20 || e.BytesIn > 2<<20 || e.BytesOut > 2<<20 {
		t.Errorf("recorded %d octets in and %d out, want a MiB and TLS's own", e.BytesIn, e.BytesOut)
	}
	eventually(t, "no tunnel is left", func() bool { return r.proxy.Tunnels() == 0 })
}

// pipe opens an unread tunnel to an origin of a script that gets raw octets;
// the first is one of TLS.
func pipe(t *testing.T, r *rig, serve func(net.Conn)) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			_ = c.SetDeadline(time.Now().Add(patience))
			serve(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	w := r.connect(t, l.Addr().String())
	if _, err := io.WriteString(w, "\x16"); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTunnelPassesTheEndOfOneDirection: a client that has said all still gets
// its answer, and an origin that has said all still reads on.
func TestTunnelPassesTheEndOfOneDirection(t *testing.T) {
	r := start(t, modeIs(Tunnel))
	w := pipe(t, r, func(c net.Conn) {
		all, _ := io.ReadAll(c) // until the client's end
		_, _ = io.WriteString(c, "got "+string(all[1:]))
	})
	_, _ = io.WriteString(w, "question")
	_ = w.Conn.(*net.TCPConn).CloseWrite()
	if answer, err := io.ReadAll(w.r); err != nil || string(answer) != "got question" {
		t.Errorf("the client ended first: %q, %v", answer, err)
	}

	got := make(chan string, 1)
	w = pipe(t, r, func(c net.Conn) {
		_, _ = io.WriteString(c, "all that there is")
		_ = c.(*net.TCPConn).CloseWrite()
		all, _ := io.ReadAll(c)
		got <- string(all[1:])
	})
	if all, err := io.ReadAll(w.r); err != nil || string(all) != "all that there is" {
		t.Errorf("the origin ended first: %q, %v", all, err)
	}
	_, _ = io.WriteString(w, "still there")
	_ = w.Close()
	if all := <-got; all != "still there" {
		t.Errorf("the origin read %q", all)
	}
}

// TestTunnelLivesWhileOneDirectionMoves: a long download, in which the client
// has nothing to say, is not idle.
func TestTunnelLivesWhileOneDirectionMoves(t *testing.T) {
	const idle = 100 * time.Millisecond // a tunnel may be quiet for quietFor of them
	r := start(t, modeIs(Tunnel), func(c *Config) { c.Timeouts.Idle = idle })
	const parts = 30
	w := pipe(t, r, func(c net.Conn) {
		tick := time.NewTicker(idle / 2)
		defer tick.Stop()
		for range parts {
			<-tick.C
			if _, err := io.WriteString(c, "x"); err != nil {
				return
			}
		}
	})
	if all, err := io.ReadAll(w.r); err != nil || len(all) != parts {
		t.Errorf("%d of %d parts came, %v", len(all), parts, err)
	}
}

// TestQuietTunnelIsClosed: goproxy has no time limit once it has hijacked
// (https.go:338).
func TestQuietTunnelIsClosed(t *testing.T) {
	const idle = 20 * time.Millisecond
	r := start(t, modeIs(Tunnel), func(c *Config) { c.Timeouts.Idle = idle })
	ended := make(chan struct{})
	began := time.Now()
	w := pipe(t, r, func(c net.Conn) {
		_, _ = io.ReadAll(c)
		close(ended)
	})
	_, _ = io.ReadAll(w.r)
	if d := time.Since(began); d < quietFor*idle/2 || d > 5*time.Second {
		t.Errorf("closed after %v, want %v", d, quietFor*idle)
	}
	<-ended
	if e := r.entry(t); e.Verdict != audit.Forwarded || e.BytesIn != 1 {
		t.Errorf("recorded as %+v", e)
	}
}

// TestTunnelEndsWithEitherSide: when one side breaks off, so does the other.
func TestTunnelEndsWithEitherSide(t *testing.T) {
	r := start(t, modeIs(Tunnel))
	w := pipe(t, r, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	_, _ = io.ReadAll(w.r) // returns
	ended := make(chan struct{})
	w = pipe(t, r, func(c net.Conn) {
		_, _ = io.ReadAll(c)
		close(ended)
	})
	_ = w.Conn.(*net.TCPConn).SetLinger(0)
	_ = w.Close()
	<-ended
	eventually(t, "no tunnel is left", func() bool { return r.proxy.Tunnels() == 0 })
}

// TestIdleTunnelIsSmall: a crawl keeps thousands of them. The clients' and the
// origin's ends, which are in this process, are counted with it.
func TestIdleTunnelIsSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has memory of its own for each goroutine")
	}
	const tunnels, bound = 400, 10 << 10
	r := start(t, modeIs(Tunnel))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	keep := make([]net.Conn, 0, 2*tunnels+2)
	open := func() {
		client, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		keep = append(keep, client)
		to := l.Addr().String()
		_, _ = io.WriteString(client, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n")
		if _, err := readHeader(client); err != nil {
			t.Fatal(err)
		}
		origin, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		keep = append(keep, origin)
		for _, ends := range [][2]net.Conn{{client, origin}, {origin, client}} { // it is relayed when both have come
			b := [1]byte{tlsHandshake}
			if _, err := ends[0].Write(b[:]); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(ends[1], b[:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	open() // what is made once
	before := held()
	for range tunnels {
		open()
	}
	each := (held() - before) / tunnels
	t.Logf("an idle tunnel takes %d octets", each)
	if each > bound {
		t.Errorf("an idle tunnel takes %d octets, want %d at most", each, bound)
	}
	for _, c := range keep {
		_ = c.Close()
	}
}

// held is the memory in use, in heap and stacks, after a collection.
func held() int64 {
	runtime.GC()
	runtime.GC() // what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestAnUnreadTunnelIsDecidedByWhatItsOriginSees: nothing in it is replaced, so
// that the User-Agent that is configured neither frees nor names anybody.
func TestAnUnreadTunnelIsDecidedByWhatItsOriginSees(t *testing.T) {
	const closed = "User-agent: curl\nDisallow: /\n\nUser-agent: NewsBot\nAllow: /\n"
	const favoured = "User-agent: NewsBot\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
	for _, row := range []struct {
		why, token, userAgent string // as they are configured
		robots, sent          string
		require               Requirement
		reason                string // of a denial; "" for none
	}{
		{"its own name is disallowed", "", "NewsBot/1.0", closed, "User-Agent: curl/8\r\n", AnyClient, "disallowed"},
		{"and a token takes nothing back", "NewsBot", "NewsBot/1.0", closed, "User-Agent: curl/8\r\n", AnyClient, "disallowed"},
		{"another name is favoured", "", "NewsBot/1.0", favoured, "", AnyClient, "disallowed"},
		{"the token is favoured", "NewsBot", "NewsBot/1.0", favoured, "User-Agent: curl/8\r\n", AnyClient, ""},
		{"nothing says who asks", "", "NewsBot/1.0", "", "", ClientWithToken, "identity"},
		{"the token says it", "NewsBot", "NewsBot/1.0", "", "", ClientWithToken, ""},
	} {
		o := newTLSOrigin(t, false, func(http.ResponseWriter, *http.Request) {})
		client := &agent.Client{Name: "news", Token: row.token, UserAgent: row.userAgent}
		r := start(t, modeIs(Tunnel), requires(row.require), func(c *Config) { c.Clients = agent.NewClients([]agent.Known{local(client)}) })
		r.policies.set(o, rules(o, row.robots))
		w := r.dial(t)
		a := w.send(t, "CONNECT "+hostOf(o)+" HTTP/1.1\r\nHost: "+hostOf(o)+"\r\n"+row.sent+"\r\n")
		_ = w.Close()
		if e := r.entry(t); row.reason != "" && e.Reason != row.reason || (a.StatusCode == 200) != (row.reason == "") {
			t.Errorf("%s: %s, recorded as %s: %+v", row.why, a.Status, e.Reason, e.Tokens)
		}
	}
}
