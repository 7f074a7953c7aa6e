package proxy

import (
	"net/http"
	"strings"
)

// hopByHop are the fields between two neighbours (RFC 9110 §7.6.1), and those
// that speak to a proxy alone.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Authentication-Info", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// endToEnd returns the fields of a message that go on to the next hop: all but
// those that Connection names and those above. The message's own are left as
// they are.
func endToEnd(h http.Header) http.Header {
	out := make(http.Header, len(h)+2)
	for name, values := range h {
		out[name] = values
	}
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			if name := strings.TrimSpace(option); name != "" {
				out.Del(name)
			}
		}
	}
	for _, name := range hopByHop {
		delete(out, name)
	}
	return out
}

// addVia puts this hop at the end of the list (RFC 9110 §7.6.3). The slice of
// the original message is not appended to.
func (p *Proxy) addVia(h http.Header, major, minor int) {
	version := "1.1"
	switch {
	case major == 2:
		version = "2.0"
	case major == 1 && minor == 0:
		version = "1.0"
	}
	via := h["Via"]
	h["Via"] = append(via[:len(via):len(via)], version+" "+p.Via)
}

// wantsTrailers reports whether the client takes trailers, the one word of TE
// that is passed on.
func wantsTrailers(h http.Header) bool { return hasToken(h["Te"], "trailers") }

// isWebSocket reports whether a message asks for, or agrees to, a WebSocket.
// No other upgrade is passed on: heed could not see what goes on behind it.
func isWebSocket(h http.Header) bool {
	return hasToken(h["Connection"], "upgrade") && hasToken(h["Upgrade"], "websocket")
}

func hasToken(lines []string, token string) bool {
	for _, line := range lines {
		for t := range strings.SplitSeq(line, ",") {
			t, _, _ = strings.Cut(t, ";")
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}
