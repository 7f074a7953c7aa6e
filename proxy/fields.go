package proxy

import (
	"net/http"
	"strings"
)

// endToEnd removes what does not go on to the next hop: the fields between two
// neighbours (RFC 9110 §7.6.1), those that Connection names among them, and
// those that speak to a proxy alone.
func endToEnd(h http.Header) {
	for _, line := range h["Connection"] {
		if line == "keep-alive" || line == "close" { // the usual ones name nothing
			continue
		}
		for option := range strings.SplitSeq(line, ",") {
			if name := strings.TrimSpace(option); name != "" {
				h.Del(name)
			}
		}
	}
	for name := range h {
		switch name {
		case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
			"Proxy-Authentication-Info", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
			delete(h, name)
		}
	}
}

// dropAsker removes from trailers who asks. That is said in the header section,
// which was decided on; a name that follows behind the body was not.
func dropAsker(trailer http.Header) {
	delete(trailer, "User-Agent")
	delete(trailer, "From")
}

// otherTargets are the fields by which some frameworks take another target or
// method than those of the request, which were decided on.
var otherTargets = [...]string{
	"X-Original-Url", "X-Original-Uri", "X-Rewrite-Url", "X-Forwarded-Uri", "X-Forwarded-Path",
	"X-Http-Method-Override", "X-Http-Method", "X-Method-Override",
}

func dropOtherTargets(h http.Header) {
	for _, name := range otherTargets {
		delete(h, name)
	}
}

// via is this hop in Via, by the version in which a message came
// (RFC 9110 §7.6.3). Nobody writes to the slices.
type via struct{ old, one, two []string }

func newVia(pseudonym string) via {
	return via{[]string{"1.0 " + pseudonym}, []string{"1.1 " + pseudonym}, []string{"2.0 " + pseudonym}}
}

// add puts this hop at the end of the list. The slice of the original message is
// not appended to.
func (v *via) add(h http.Header, major, minor int) {
	hop := v.one
	switch {
	case major == 2:
		hop = v.two
	case major == 1 && minor == 0:
		hop = v.old
	}
	if before := h["Via"]; len(before) > 0 {
		hop = append(before[:len(before):len(before)], hop...)
	}
	h["Via"] = hop
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
