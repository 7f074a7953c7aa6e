package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"heed/internal/audit"
	"heed/internal/fieldline"
)

// hops returns how many more proxies a request may pass, where it says so. It
// can say so of TRACE and OPTIONS, by which a client looks for the one in a chain
// that loops or fails; of others the field has no meaning (RFC 9110 §7.6.2).
func hops(r *http.Request) (left uint64, bounded bool) {
	if r.Method != http.MethodTrace && r.Method != http.MethodOptions {
		return 0, false
	}
	field := r.Header["Max-Forwards"]
	if len(field) != 1 {
		return 0, false
	}
	left, err := strconv.ParseUint(field[0], 10, 64)
	return left, err == nil || errors.Is(err, strconv.ErrRange)
}

// countHop takes this hop off what goes on.
func countHop(r *http.Request) {
	if left, bounded := hops(r); bounded {
		r.Header["Max-Forwards"] = []string{strconv.FormatUint(left-1, 10)}
	}
}

// lastHop answers a request that may not go on, as an origin would: OPTIONS by
// nothing, TRACE by the request itself, less what is secret (RFC 9110 §9.3.8).
func (p *Proxy) lastHop(x *exchange) *http.Response {
	x.entry.Verdict, x.entry.Reason = audit.Answered, "max-forwards"
	var body []byte
	h := http.Header{"Cache-Control": noStore}
	if x.in.Method == http.MethodTrace {
		body = received(x)
		h["Content-Type"] = []string{"message/http"}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	return new(ownAnswer).respond(x.in, http.StatusOK, h, body)
}

// received is the header section of a request.
func received(x *exchange) []byte {
	lines := []fieldline.Line{{Name: "Host", Value: x.in.Host}}
	for name, values := range x.in.Header {
		switch name {
		case "Authorization", "Cookie", "Proxy-Authorization":
			continue
		}
		for _, v := range values {
			lines = append(lines, fieldline.Line{Name: name, Value: v})
		}
	}
	b := fmt.Appendf(nil, "%s %s %s\r\n", x.in.Method, x.in.RequestURI, x.in.Proto)
	return append(fieldline.Append(b, lines, x.trip.Request), "\r\n"...)
}
