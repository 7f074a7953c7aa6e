package proxy

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestABodyBehindItsHeaderSectionDoesNotWait: a client that sends a small body by
// itself, and whose TCP waits for the acknowledgement of the header section
// (Nagle), is not held up by a delayed one, of 40 ms at least.
func TestABodyBehindItsHeaderSectionDoesNotWait(t *testing.T) {
	const delayed = 40 * time.Millisecond
	r := start(t)
	for _, tt := range []struct {
		why    string
		url    string
		secure bool
	}{
		{"plain", newOrigin(t, readAll), false},
		{"inside TLS", newTLSOrigin(t, false, readAll), true},
	} {
		t.Run(tt.why, func(t *testing.T) {
			raw := r.dial(t)
			if tt.secure {
				raw = r.connect(t, hostOf(tt.url))
			}
			if err := raw.Conn.(*net.TCPConn).SetNoDelay(false); err != nil {
				t.Fatal(err)
			}
			w, header := raw, request("POST", tt.url+"/", "Content-Length: 1000")
			if tt.secure {
				w = r.secure(t, raw, "127.0.0.1")
				header = "POST / HTTP/1.1\r\nHost: " + hostOf(tt.url) + "\r\nContent-Length: 1000\r\n\r\n"
			}
			fastest := patience
			for i := range 30 {
				began := time.Now()
				if _, err := io.WriteString(w, header); err != nil {
					t.Fatal(err)
				}
				if a := w.send(t, string(make([]byte, 1000))); a.StatusCode != http.StatusOK {
					t.Fatal(a.Status)
				}
				if i >= 20 { // a new connection is acknowledged at once for some segments
					fastest = min(fastest, time.Since(began))
				}
			}
			if fastest >= delayed {
				t.Errorf("each of ten took %v or more", fastest)
			}
		})
	}
}

func readAll(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
