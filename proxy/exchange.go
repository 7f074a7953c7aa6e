package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync/atomic"
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
	reused atomic.Bool // the request went out on a connection that was kept
	left   bool        // the exchange goes on by itself, and records itself (tunnel.go:relay)
	err    error       // why no decision could be made, or the request could not be served
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

// serveExchange is the one entry of every request. It reads the target, hands
// a well-formed request to the engine, whose hooks call back serve or connect,
// and answers the others itself.
func (p *Proxy) serveExchange(w http.ResponseWriter, r *http.Request) {
	p.work.enter()
	defer p.work.leave()
	c := connOf(r)
	c.head.close()
	x := p.newExchange(c, w, r)
	defer func() {
		if !x.left {
			p.record(x)
		}
	}()
	defer p.recoverExchange(x)

	if x.err = p.readTarget(x); x.err != nil {
		x.w.writeResponse(p.deny(x))
		return
	}
	x.in.URL = &url.URL{Scheme: x.origin.Scheme, Host: x.origin.Authority(), Path: "/"} // absolute, which is all that goproxy looks at
	p.engine.ServeHTTP(x.w, x.in)
	x.w.closeUpgraded()
	if x.w.cut != nil {
		// goproxy ends an answer that broke off as if it were whole
		// (http.go:106); only an aborted connection tells the client.
		x.w.Flush() // what has come, and that it was an answer
		if !r.ProtoAtLeast(1, 1) {
			reset(c)
		}
		panic(http.ErrAbortHandler)
	}
}

// newExchange leaves r as it is: net/http looks at its body when the answer
// begins, to tell whether the connection can be used again.
func (p *Proxy) newExchange(c *clientConn, w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{tunnel: c.tunnel, entry: newEntry(c, r)}
	x.w = &responseWriter{ResponseWriter: w, in: r, connect: r.Method == http.MethodConnect}
	if c.tunnel == nil {
		x.w.raw = &p.raw
	}
	x.body = &countedBody{ReadCloser: r.Body, w: x.w}
	x.in = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	x.in.Body = x.body
	return x
}

func newEntry(c *clientConn, r *http.Request) *audit.Entry {
	now := time.Now()
	e := entries.Get().(*audit.Entry)
	e.ID, e.Start = xid.NewWithTime(now).String(), now
	e.Proto, e.Method, e.Target = r.Proto, r.Method, redactUserinfo(r.RequestURI)
	e.Client, e.Channel = c.client(r.RemoteAddr), channelOf(r, c.tunnel)
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
	resp := p.deny(x)
	if x.w.conn != nil {
		_ = x.w.conn.Close() // net/http leaves a hijacked connection open
	}
	if x.w.status != 0 || x.w.conn != nil {
		panic(http.ErrAbortHandler)
	}
	x.w.writeResponse(resp)
}

func sprintf(format string, args []any) string { return fmt.Sprintf(format, args...) }
