package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestWebSocket: an allowed handshake becomes a WebSocket both ways, over ws
// and wss; a disallowed one is denied before the origin hears of it.
func TestWebSocket(t *testing.T) {
	o := newOrigin(t, map[string]string{openHost: "User-agent: *\n" + rule + "\n"}, map[string]http.HandlerFunc{
		"/public/echo":  echo,
		"/private/echo": echo,
	})
	h := startHeed(t, []string{"SSL_CERT_FILE=" + o.rootFile}, o.connectTo()...)
	client := h.client(t)
	for _, scheme := range []string{"ws", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			conn, _, err := websocket.Dial(ctx, scheme+"://"+openHost+"/public/echo", &websocket.DialOptions{HTTPClient: client})
			if err != nil {
				t.Fatal(err)
			}
			conn.SetReadLimit(1 << 20)
			for _, message := range [][]byte{[]byte("x"), octets} {
				if err := conn.Write(ctx, websocket.MessageBinary, message); err != nil {
					t.Fatal(err)
				}
				_, got, err := conn.Read(ctx)
				if err != nil || string(got) != string(message) {
					t.Fatalf("%d octets came back of %d: %v", len(got), len(message), err)
				}
			}
			if err := conn.Close(websocket.StatusNormalClosure, "done"); err != nil {
				t.Errorf("closing: %v", err)
			}

			_, resp, err := websocket.Dial(ctx, scheme+"://"+openHost+"/private/echo", &websocket.DialOptions{HTTPClient: client})
			if err == nil || resp == nil {
				t.Fatalf("a disallowed handshake: %v, %v; want 403", resp, err)
			}
			if resp.StatusCode != 403 || resp.Header.Get("Robots-Decision") == "" {
				t.Errorf("a disallowed handshake: %s, %v; want 403", resp.Status, resp.Header)
			}
		})
	}
	if got := o.requests("/private/"); len(got) > 0 {
		t.Errorf("requests reached the origin: %+v", got)
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it has been answered
	}
	conn.SetReadLimit(1 << 20)
	defer conn.CloseNow()
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil || conn.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}

// client is a Go client that goes through h and trusts its CA and no other.
func (h *heed) client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: h.Proxy}),
		TLSClientConfig:   &tls.Config{RootCAs: h.roots(t)},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// roots holds h's CA and no other: who trusts them alone gets through TLS by
// interception alone.
func (h *heed) roots(t testing.TB) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(heedCommand(t, nil, "ca", "export", "--state-dir", h.StateDir)) {
		t.Fatal("heed ca export printed no certificate")
	}
	return roots
}
