package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"heed/internal/agent"
	"heed/internal/origin"
)

// TestBothSidesChooseTheirVersion: a client and an origin agree with heed each
// for itself, by ALPN, on what they speak.
func TestBothSidesChooseTheirVersion(t *testing.T) {
	r := start(t)
	for _, to := range []struct {
		url, proto string
	}{
		{newTLSOrigin(t, true, sayProto), "HTTP/2.0"},
		{newTLSOrigin(t, false, sayProto), "HTTP/1.1"},
	} {
		for _, tt := range []struct {
			why    string
			offers []string
			want   string // "": the handshake fails
		}{
			{"HTTP/2 alone", []string{"h2"}, "h2"},
			{"HTTP/1.1 alone", []string{"http/1.1"}, "http/1.1"},
			{"both", []string{"h2", "http/1.1"}, "h2"},
			{"both, HTTP/1.1 first: the server chooses", []string{"http/1.1", "h2"}, "h2"},
			{"none", nil, "none"},
			{"something unknown and HTTP/1.1", []string{"spdy/3", "http/1.1"}, "http/1.1"},
			{"HTTP/1.0 and HTTP/1.1", []string{"http/1.0", "http/1.1"}, "http/1.1"},
			{"HTTP/1.0 alone", []string{"http/1.0"}, "http/1.0"},
			{"something unknown alone (RFC 7301 §3.2)", []string{"spdy/3"}, ""},
		} {
			t.Run(tt.why+", of an origin with "+to.proto, func(t *testing.T) {
				c := tls.Client(r.connect(t, hostOf(to.url)).Conn, &tls.Config{ServerName: "127.0.0.1", RootCAs: r.trust(), NextProtos: tt.offers})
				err := c.HandshakeContext(t.Context())
				if tt.want == "" {
					if err == nil || !strings.Contains(err.Error(), "no application protocol") {
						t.Errorf("the handshake: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := or(c.ConnectionState().NegotiatedProtocol, "none"); got != tt.want {
					t.Fatalf("agreed on %s, want %s", got, tt.want)
				}
				if got := askOver(t, c, to.url); got != to.proto {
					t.Errorf("the origin was asked by %s, want %s", got, to.proto)
				}
			})
		}
	}
}

func sayProto(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, req.Proto) }

// askOver makes a request on a connection, in the version that was agreed on,
// and returns the answer's body.
func askOver(t *testing.T, c *tls.Conn, origin string) string {
	t.Helper()
	if c.ConnectionState().NegotiatedProtocol != "h2" {
		w := &wire{c, bufio.NewReader(c)}
		return w.send(t, "GET / HTTP/1.1\r\nHost: "+hostOf(origin)+"\r\n\r\n").body
	}
	tr := &http.Transport{
		ForceAttemptHTTP2: true,
		DialTLSContext:    func(context.Context, string, string) (net.Conn, error) { return c, nil },
	}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestAPinnedClientHasItsException: with the mode tunnel for its host it sees
// the origin's own certificate; other hosts are intercepted as ever.
func TestAPinnedClientHasItsException(t *testing.T) {
	pinned := newTLSOrigin(t, true, sayProto)
	r := start(t, func(c *Config) {
		c.Mode = func(o origin.Origin, _ *agent.Client) (Mode, string) {
			if o.Addr() == hostOf(pinned) {
				return Tunnel, "it pins"
			}
			return Intercept, ""
		}
	})
	leafOf := func(authority, name string) []byte {
		c := tls.Client(r.connect(t, authority).Conn, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err := c.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Raw
	}
	if got := leafOf(hostOf(pinned), ""); !bytes.Equal(got, originCertificate().Raw) {
		t.Error("the exception does not show the origin's own certificate")
	}
	if got := leafOf(Host+":443", Host); bytes.Equal(got, originCertificate().Raw) {
		t.Error("another host is not intercepted")
	}
}

// poor is a listener of a machine that has run out of descriptors for a while.
type poor struct {
	net.Listener
	left atomic.Int32
}

func (l *poor) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestUsedUpDescriptorsDoNotEndTheServer: it takes clients again within a
// second of there being some.
func TestUsedUpDescriptorsDoNotEndTheServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	short := &poor{Listener: l}
	short.left.Store(6) // 5, 10, … 160 ms between them
	p := start(t).proxy
	p = New(p.Config)
	served := make(chan error, 1)
	go func() { served <- p.Serve(short) }()
	r := &rig{addr: l.Addr().String()}
	began := time.Now()
	if a := r.get(t, "http://"+Host+"/"); a.StatusCode != http.StatusOK || time.Since(began) > 3*time.Second {
		t.Errorf("%s after %v", a.Status, time.Since(began))
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := await(t, "Serve", served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}
