package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/xid"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/origin"
	"heed/internal/pace"
	"heed/internal/quota"
	"heed/internal/roundtrip"
	"heed/internal/serving"
)

var errNotOurPath = errors.New("heed: a request took a path that is not heed's; this is a defect, please report it")

// exchange is a request on its way through the stages. It belongs to one
// goroutine. What it is made of is one piece of memory: there is one for each
// request.
type exchange struct {
	in     *http.Request // its context knows the exchange, its URL is absolute
	w      responseWriter
	tunnel *tunnel       // the CONNECT that the request came in through; nil on the proxy's own port
	client *agent.Client // nil: nobody whom the configuration names; inside a tunnel that of the CONNECT
	origin origin.Origin
	target string // path and query as received; "/" when there was none
	body   countedBody
	entry  *audit.Entry
	left   bool       // the exchange goes on by itself, and records itself (tunnel.go:relay)
	late   bool       // robots.txt did not come in time, and that is reported
	pass   quota.Pass // of its client's quota; zero where that has none
	err    error      // why no decision could be made, or the request could not be served

	absolute url.URL // of in
	out      http.Request
	outURL   url.URL
	outBody  originBody
	trip     roundtrip.Exchange
	turn     pace.Turn
	held     time.Duration // for the turn of its robots.txt
	departs  departure
	wants    wants
}

// wants is what a client asks of its neighbour, in fields that end here.
type wants struct {
	webSocket bool
	trailers  bool
}

// Value is what a request's context knows of its exchange: the stages find it
// there, and the transport its round trip.
func (x *exchange) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return x
	case roundtrip.Key:
		return &x.trip
	}
	return nil
}

// exchangeContext is the context of a request in HTTP/2.
type exchangeContext struct {
	context.Context //nolint:containedctx // it is one
	x               *exchange
}

// Value asks the exchange first.
func (c *exchangeContext) Value(key any) any {
	if v := c.x.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
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
	c := connOf(w, r)
	if r.Method == http.MethodOptions && r.RequestURI == "*" && c.tunnel == nil {
		w.Header()["Content-Length"] = []string{"0"} // it asks the proxy itself (RFC 9110 §9.3.7)
		return
	}
	x := p.newExchange(c, w, r)
	defer x.release()
	defer func() {
		if !x.left {
			p.record(x)
		}
	}()
	defer p.recoverExchange(x)

	if x.err = p.readTarget(x); x.err != nil {
		if x.w.connect && x.w.own != nil { // what the client sent for the tunnel already is no request to heed
			x.w.Header()["Connection"] = []string{"close"}
		}
		x.w.writeResponse(p.deny(x))
		return
	}
	x.absolute = url.URL{Scheme: x.origin.Scheme, Host: x.origin.Host} // that it is absolute is all that goproxy looks at
	x.in.URL = &x.absolute
	p.engine.ServeHTTP(&x.w, x.in)
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

// newExchange makes an exchange of a request.
func (p *Proxy) newExchange(c *clientConn, w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{
		tunnel: c.tunnel,
		entry:  newEntry(c, r),
		w:      responseWriter{ResponseWriter: w, in: r, connect: r.Method == http.MethodConnect},
	}
	x.body = countedBody{ReadCloser: r.Body, w: &x.w}
	if c.tunnel == nil {
		x.w.raw = &p.raw
	} else {
		x.isOf(c.tunnel.named)
	}
	if own, ok := w.(*serving.Response); ok {
		x.w.own, x.in = own, r
		x.trip.Request, x.trip.Response = own.Section(), sections.Get().(*[sectionSize]byte)[:0]
		own.With(x)
	} else {
		x.in = r.WithContext(&exchangeContext{r.Context(), x}) // net/http looks at the other one's body when the answer begins
		x.bound(p.Timeouts.Idle)
	}
	x.in.Body = &x.body
	return x
}

// sectionSize is what the header section of most answers has room in.
const sectionSize = 2 << 10

var sections = sync.Pool{New: func() any { return new([sectionSize]byte) }}

// release gives back what is used again. Nobody answers any more.
func (x *exchange) release() {
	x.unbound()
	x.turn.End()
	if b := x.trip.Response; cap(b) == sectionSize {
		sections.Put((*[sectionSize]byte)(b[:sectionSize]))
	}
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
		_ = x.w.conn.Close() // a server leaves a hijacked connection open
	}
	if x.w.status != 0 || x.w.conn != nil {
		x.w.Flush() // that it was an answer, which is now broken off
		panic(http.ErrAbortHandler)
	}
	x.w.writeResponse(resp)
}

func sprintf(format string, args []any) string { return fmt.Sprintf(format, args...) }
