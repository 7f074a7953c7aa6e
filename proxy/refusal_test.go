package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// failures collects what a proxy says of its clients' TLS.
type failures struct {
	mu  sync.Mutex
	all []string
}

func (f *failures) add(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, s)
}

func (f *failures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.all, " ")
}

// TestClientsThatDoNotTrustHeed are told apart from others that fail, however
// they say so: real ones end in each of these ways.
func TestClientsThatDoNotTrustHeed(t *testing.T) {
	distrust := func(protocols ...string) func(*rig, net.Conn) {
		return func(_ *rig, c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "a.example", NextProtos: protocols}).Handshake()
		}
	}
	after := func(end func(*tls.Conn), protocols ...string) func(*rig, net.Conn) {
		return func(r *rig, c net.Conn) {
			secure := tls.Client(c, &tls.Config{ServerName: "a.example", RootCAs: r.trust(), NextProtos: protocols})
			if err := secure.Handshake(); err != nil {
				t.Error(err)
			}
			end(secure)
		}
	}
	closes := func(c *tls.Conn) { _ = c.Close() }
	cuts := func(c *tls.Conn) { _ = c.NetConn().Close() }
	resets := func(c *tls.Conn) {
		_ = c.NetConn().(*net.TCPConn).SetLinger(0)
		_ = c.NetConn().Close()
	}
	for _, tt := range []struct {
		why    string
		client func(*rig, net.Conn)
		want   string
		warns  bool
	}{
		{"an alert in the handshake: Go, OpenSSL, Java", distrust(), tlsRefused, true},
		{"the same, of a client that offers HTTP/2", distrust("h2", "http/1.1"), tlsRefused, true},
		{"an alert in plain text, where all should be encrypted: OpenSSL", func(_ *rig, c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "a.example", InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
				_, _ = io.WriteString(c, "\x14\x03\x03\x00\x01\x01\x15\x03\x03\x00\x02\x02\x30")
				return c.Close()
			}}).Handshake()
		}, tlsRefused, true},
		{"it looks at the certificate when the handshake is over, and says goodbye: GnuTLS", after(closes), tlsLeft, true},
		{"the same with HTTP/2", after(closes, "h2"), tlsLeft, true},
		{"it only closes: Node", after(cuts, "http/1.1"), tlsLeft, true},
		{"it resets", after(resets), tlsLeft, true},
		{"it resets, with HTTP/2", after(resets, "h2"), tlsLeft, true},
		{"it goes in the handshake, without a word", func(_ *rig, c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "a.example", VerifyConnection: func(tls.ConnectionState) error { return c.Close() }, InsecureSkipVerify: true}).Handshake()
		}, tlsLeft, true},
		{"it goes before it has seen anything", func(_ *rig, c net.Conn) {
			_, _ = io.WriteString(c, "\x16\x03\x01\x02\x00\x01")
			_ = c.Close()
		}, tlsClosed, false},
		{"it stalls", func(_ *rig, c net.Conn) {
			_, _ = io.WriteString(c, "\x16\x03\x01\x02\x00\x01")
			_, _ = io.ReadAll(c)
		}, tlsTimeout, false},
		{"it takes the handshake and sends none of its own", func(_ *rig, c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "a.example", InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
				_, _ = io.ReadAll(c)
				return errors.New("enough")
			}}).Handshake()
		}, tlsTimeout, false},
		{"it speaks TLS 1.1", func(_ *rig, c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "a.example", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).Handshake()
		}, tlsProtocol, false},
		{"it is not TLS at all", func(_ *rig, c net.Conn) {
			_, _ = io.WriteString(c, "\x16SSH-2.0-OpenSSH_9.2\r\n")
			_, _ = io.ReadAll(c)
		}, tlsProtocol, false},
		{"it speaks none of the protocols", func(_ *rig, c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "a.example", InsecureSkipVerify: true, NextProtos: []string{"spdy/3"}}).Handshake()
		}, tlsProtocol, false},
	} {
		t.Run(tt.why, func(t *testing.T) {
			seen := new(failures)
			r := start(t, func(c *Config) {
				c.TLSFailed = seen.add
				if tt.want == tlsTimeout { // others may take their time on a busy machine
					c.Timeouts.TLSHandshake = 200 * time.Millisecond
				}
			})
			c := r.connect(t, "a.example:443").Conn
			tt.client(r, c)
			eventually(t, "the failure is counted", func() bool { return seen.String() != "" })
			_ = c.Close()
			eventually(t, "no tunnel is left", func() bool { return r.proxy.Tunnels() == 0 })
			if got := seen.String(); got != tt.want {
				t.Errorf("counted as %q, want %q", got, tt.want)
			}
			log := r.log.String()
			if warns := strings.Contains(log, `"level":"warn"`); warns != tt.warns {
				t.Errorf("warns: %t, want %t:\n%s", warns, tt.warns, log)
			}
			if tt.warns && (!strings.Contains(log, "https://a.example") || !strings.Contains(log, "heed ca export") || !strings.Contains(log, "https.exceptions")) {
				t.Errorf("the log names neither origin nor remedy:\n%s", log)
			}
		})
	}
}

// TestClientsThatTrustHeedAreNotCounted: those that ask for something, that
// resume, and that keep a connection for later.
func TestClientsThatTrustHeedAreNotCounted(t *testing.T) {
	seen := new(failures)
	r := start(t, func(c *Config) { c.TLSFailed = seen.add })
	for _, h2 := range []bool{false, true} {
		resp, err := r.client(t, h2).Get("https://" + Host + "/")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
	}
	c := &tls.Config{RootCAs: r.trust(), ServerName: Host, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	r.handshaken(t, Host+":443", c)
	again := tls.Client(r.connect(t, Host+":443").Conn, c)
	if err := again.Handshake(); err != nil || !again.ConnectionState().DidResume {
		t.Errorf("resumed %t, %v", again.ConnectionState().DidResume, err)
	}
	_ = again.Close()
	kept := r.secure(t, r.connect(t, Host+":443"), Host)
	if err := await(t, "Shutdown", r.shutdown(t, 50*time.Millisecond)); err != nil && r.proxy.Tunnels() > 0 {
		t.Error(err)
	}
	_ = kept.Close()
	if got := seen.String(); got != "" {
		t.Errorf("counted as %q", got)
	}
}

// TestSpareConnectionsAreNotCounted: a client closes those that it does not use
// when it has one in HTTP/2, whichever of them heed sees first.
func TestSpareConnectionsAreNotCounted(t *testing.T) {
	for _, usedFirst := range []bool{true, false} {
		seen := new(failures)
		r := start(t, func(c *Config) { c.TLSFailed = seen.add })
		spare := r.secure(t, r.connect(t, Host+":443"), Host, "h2")
		used := r.secure(t, r.connect(t, Host+":443"), Host, "h2")
		preface := func() {
			_, _ = io.WriteString(used, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		}
		if usedFirst {
			preface()
			_, _ = used.r.ReadByte() // heed's own preface
		}
		_ = spare.Close()
		if !usedFirst {
			preface()
		}
		_ = used.SetReadDeadline(time.Now().Add(2 * spareGrace))
		_, _ = io.ReadAll(used.r)
		if got := seen.String(); got != "" {
			t.Errorf("used first: %t: counted as %q", usedFirst, got)
		}
		_ = used.Close()
	}
}

// TestFailuresOfTLSHaveWords.
func TestFailuresOfTLSHaveWords(t *testing.T) {
	remote := func(text string) error { return &net.OpError{Op: "remote error", Err: errors.New("tls: " + text)} }
	for _, tt := range []struct {
		err  error
		seen bool
		want string
		why  string
	}{
		{remote("bad certificate"), true, tlsRefused, "alert 42"},
		{remote("unknown certificate"), true, tlsRefused, "alert 46"},
		{remote("unknown certificate authority"), true, tlsRefused, "alert 48"},
		{remote("expired certificate"), true, tlsRefused, "alert 45"},
		{remote("handshake failure"), true, tlsAlert, "alert 40 says nothing of certificates"},
		{remote("unrecognized name"), false, tlsAlert, "alert 112"},
		{remote("user canceled"), true, tlsLeft, "alert 90"},
		{io.EOF, true, tlsLeft, "the end"},
		{syscall.ECONNRESET, true, tlsLeft, "a reset"},
		{io.EOF, false, tlsClosed, "nothing was sent yet"},
		{net.ErrClosed, true, tlsClosed, "heed closed it"},
		{os.ErrDeadlineExceeded, true, tlsTimeout, "too slow"},
		{x509.UnknownAuthorityError{}, true, tlsProtocol, "anything else"},
	} {
		if got := tlsFailure(tt.err, tt.seen); got != tt.want {
			t.Errorf("%v (%s): %q, want %q", tt.err, tt.why, got, tt.want)
		}
	}
}

// TestAlertIsFoundHoweverItIsCut: reads end anywhere.
func TestAlertIsFoundHoweverItIsCut(t *testing.T) {
	const record = "\x15\x03\x03\x00\x02\x02\x30"
	for _, before := range []string{"", "x", "\x14\x03\x03\x00\x01\x01", strings.Repeat("y", 600)} {
		sent := before + record
		for cut := range sent {
			client, server := net.Pipe()
			go func() {
				_, _ = io.WriteString(client, sent[:cut])
				_, _ = io.WriteString(client, sent[cut:])
				_ = client.Close()
			}()
			c := &alertConn{rawConn: (*tracker)(nil).track(server)}
			_, _ = io.Copy(io.Discard, c)
			_ = server.Close()
			if err := c.alert(); err == nil || tlsFailure(err, true) != tlsRefused {
				t.Fatalf("%q cut at %d: %v", sent, cut, err)
			}
		}
	}
	c := &alertConn{}
	copy(c.last[:], "\x17\x03\x03\x00\x02\x02\x30")
	if err := c.alert(); err != nil {
		t.Errorf("data is taken for an alert: %v", err)
	}
}
