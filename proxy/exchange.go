package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/rs/xid"

	"heed/internal/audit"
	"heed/internal/origin"
)

var errNotOurPath = errors.New("heed: a request took a path that is not heed's; this is a defect, please report it")

// exchange is a request on its way through the stages. It belongs to one
// goroutine.
type exchange struct {
	in     *http.Request
	w      *responseWriter
	tunnel *tunnel // the CONNECT that the request came in through; nil on the proxy's own port
	origin origin.Origin
	target string // path and query as received; "/" when there was none
	body   *countedBody
	entry  *audit.Entry
	err    error // why no decision could be made, or the request could not be served
}

type exchangeKey struct{}

// exchangeOf returns the exchange that serveExchange put into the request. One
// without it did not come in through heed's door: goproxy would forward it.
func exchangeOf(r *http.Request) *exchange {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		panic(errNotOurPath)
	}
	return x
}

// serveOutside handles a request on the proxy's own port.
func (p *Proxy) serveOutside(w http.ResponseWriter, r *http.Request) {
	p.serveExchange(w, r, nil)
}

// serveExchange is the one entry of every request. It reads the target, hands
// a well-formed request to the engine, whose hooks call back serve or connect,
// and answers the others itself.
func (p *Proxy) serveExchange(w http.ResponseWriter, r *http.Request, t *tunnel) {
	x := &exchange{tunnel: t, entry: newEntry(r, t)}
	x.w = &responseWriter{ResponseWriter: w, raw: &p.raw, replay: r.Method == http.MethodConnect}
	x.body = &countedBody{ReadCloser: r.Body}
	r.Body = x.body
	x.in = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	defer p.record(x)
	defer p.recoverExchange(x)

	switch x.err = p.readTarget(x); {
	case x.err != nil:
		x.w.writeResponse(p.deny(x))
	case x.origin == origin.Origin{}: // origin-form on the proxy's own port: a page of ours
		x.w.writeResponse(p.serve(x))
	default:
		x.in.URL = &url.URL{Scheme: x.origin.Scheme, Host: x.origin.Authority(), Path: "/"} // absolute, which is all that goproxy looks at
		p.engine.ServeHTTP(x.w, x.in)
		x.w.closeUpgraded()
	}
	if x.w.cut != nil {
		// goproxy ends an answer that broke off as if it were whole
		// (http.go:106); only an aborted connection tells the client.
		panic(http.ErrAbortHandler)
	}
}

func newEntry(r *http.Request, t *tunnel) *audit.Entry {
	e := &audit.Entry{
		ID:      xid.New().String(),
		Start:   time.Now(),
		Proto:   r.Proto,
		Method:  r.Method,
		Target:  r.RequestURI,
		Channel: channelOf(r, t),
	}
	e.Client, _ = netip.ParseAddrPort(r.RemoteAddr)
	return e
}

func channelOf(r *http.Request, t *tunnel) audit.Channel {
	switch {
	case t != nil && r.TLS != nil:
		return audit.Intercepted
	case t != nil:
		return audit.Tunnel
	case r.Method == http.MethodConnect:
		return audit.Connect
	default:
		return audit.Plain
	}
}

// recoverExchange turns a panic into a denial: 500 when nothing was sent yet,
// an aborted answer otherwise. The process and other exchanges go on.
func (p *Proxy) recoverExchange(x *exchange) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	x.err = &problem{kind: kindInternal, cause: fmt.Errorf("panic: %v", cause)}
	x.entry.Decision.Allowed = false
	p.Log.Error().Str("id", x.entry.ID).Str("panic", fmt.Sprint(cause)).Bytes("stack", debug.Stack()).Msg("exchange panicked")
	if x.w.status != 0 || x.w.conn != nil {
		panic(http.ErrAbortHandler)
	}
	x.w.writeResponse(p.deny(x))
}

func sprintf(format string, args []any) string { return fmt.Sprintf(format, args...) }
