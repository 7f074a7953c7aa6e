package proxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heed/internal/ca"
)

// handshaken opens a tunnel and makes a request inside TLS, so that the
// session's ticket has come.
func (r *rig) handshaken(t *testing.T, authority string, c *tls.Config) (tls.ConnectionState, answer) {
	t.Helper()
	secure := tls.Client(r.connect(t, authority).Conn, c)
	if err := secure.HandshakeContext(t.Context()); err != nil {
		t.Fatalf("TLS inside the tunnel to %s: %v", authority, err)
	}
	w := &wire{secure, bufio.NewReader(secure)}
	host, _, _ := strings.Cut(authority, ":")
	a := w.send(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	_ = w.Close()
	return secure.ConnectionState(), a
}

func (r *rig) trust() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	return roots
}

// oneSession is a client's cache that gives the same session to whoever asks:
// a client that confuses names.
type oneSession struct{ s *tls.ClientSessionState }

func (c *oneSession) Get(string) (*tls.ClientSessionState, bool) { return c.s, c.s != nil }
func (c *oneSession) Put(_ string, s *tls.ClientSessionState)    { c.s = s }

// TestSessionsAreResumed between connections of a client, by either version of
// TLS, and not under another name.
func TestSessionsAreResumed(t *testing.T) {
	r := start(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			c := &tls.Config{RootCAs: r.trust(), ServerName: Host, MinVersion: version, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
			for i := range 4 {
				state, a := r.handshaken(t, Host+":443", c)
				if state.DidResume != (i > 0) || a.StatusCode != http.StatusOK {
					t.Errorf("connection %d: resumed %t, %s", i, state.DidResume, a.Status)
				}
			}

			mixed := &oneSession{}
			c.ClientSessionCache = mixed
			if state, _ := r.handshaken(t, Host+":443", c); state.DidResume {
				t.Error("a client without a session resumed one")
			}
			c.ServerName, c.InsecureSkipVerify = "a.example", true // Go's client would see the other name in the session
			r.policies.set("https://a.example", rules("https://a.example", "User-agent: *\nDisallow: /\n"))
			state, a := r.handshaken(t, "a.example:443", c)
			if state.DidResume {
				t.Error("a session made for heed.internal was resumed for a.example")
			}
			if name := state.PeerCertificates[0].DNSNames[0]; name != "a.example" || a.StatusCode != http.StatusForbidden {
				t.Errorf("the certificate is for %s, the answer %s", name, a.Status)
			}
		})
	}
}

// TestResumedSessionIsForItsAuthority: the SNI is looked at in a resumed
// session as in any.
func TestResumedSessionIsForItsAuthority(t *testing.T) {
	r := start(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c := &tls.Config{RootCAs: r.trust(), ServerName: Host, MinVersion: version, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
		if _, a := r.handshaken(t, Host+":443", c); a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
		state, a := r.handshaken(t, "a.example:443", c) // the same name, in a tunnel to another
		if !state.DidResume || a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "TLS server name") {
			t.Errorf("%s: resumed %t, %s: %s", tls.VersionName(version), state.DidResume, a.Status, a.body)
		}
	}
}

// TestTicketKeysRotate: a ticket is good for a week at most, and a new
// connection brings a new one.
func TestTicketKeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority, err := ca.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := ca.NewIssuer(authority, 0).Certificate(Host)
		if err != nil {
			t.Fatal(err)
		}
		server := &tls.Config{Certificates: []tls.Certificate{*leaf}}
		server.WrapSession, server.UnwrapSession = sessionsOf(server)
		sessions, began := tls.NewLRUClientSessionCache(0), time.Now()
		resumed := func() bool {
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			done := make(chan struct{})
			go func() {
				defer close(done)
				s := tls.Server(far, server)
				_, _ = s.Write([]byte("x"))
				_, _ = s.Read(make([]byte, 1))
			}()
			c := tls.Client(near, &tls.Config{
				ServerName: Host, InsecureSkipVerify: true, ClientSessionCache: sessions,
				Time: func() time.Time { return began }, // it would tire of the session itself
			})
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			state := c.ConnectionState()
			_ = c.Close()
			<-done
			return state.DidResume
		}
		for _, tt := range []struct {
			after time.Duration
			want  bool
		}{{0, false}, {time.Hour, true}, {6 * 24 * time.Hour, true}, {8 * 24 * time.Hour, false}, {time.Minute, true}} {
			time.Sleep(tt.after)
			if got := resumed(); got != tt.want {
				t.Errorf("%v later: resumed %t, want %t", tt.after, got, tt.want)
			}
		}
	})
}
