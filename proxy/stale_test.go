package proxy

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// TestKeptConnectionThatTheOriginClosesIsNoFault: an origin may close a
// connection that was kept just as the next request goes out. What may be sent
// twice is (RFC 9110 §9.2.2); the rest is the client's to repeat.
func TestKeptConnectionThatTheOriginClosesIsNoFault(t *testing.T) {
	const kept = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, tt := range []struct {
		request string
		status  int
		seen    int32
		why     string
	}{
		{"GET", 200, 3, "the second is sent again, on a connection of its own"},
		{"POST", 502, 2, "what a POST did is not known"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			var requests atomic.Int32
			host, seen := script(t, func(c net.Conn) {
				requests.Add(1)
				_, _ = io.WriteString(c, kept)
				if requests.Load() > 1 {
					return
				}
				if _, err := readHeader(c); err == nil {
					requests.Add(1) // and no answer to it
				}
			})
			r := start(t)
			if a := r.get(t, "http://"+host+"/first"); a.StatusCode != 200 {
				t.Fatal(a.Status)
			}
			<-seen
			second := "GET http://" + host + "/second HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
			if tt.request == "POST" {
				second = strings.Replace(second, "GET", "POST", 1)
				second = strings.Replace(second, "\r\n\r\n", "\r\nContent-Length: 1\r\n\r\nx", 1)
			}
			if a := r.send(t, second); a.StatusCode != tt.status {
				t.Errorf("got %s, want %d: %s", a.Status, tt.status, tt.why)
			}
			if n := requests.Load(); n != tt.seen {
				t.Errorf("the origin saw %d requests, want %d: %s", n, tt.seen, tt.why)
			}
		})
	}
}
