package roundtrip

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Config is what a Transport is made of.
type Config struct {
	// Base serves what is not taken here. Its limits hold for both: TLS and its
	// handshake's time, ResponseHeaderTimeout, ExpectContinueTimeout,
	// MaxResponseHeaderBytes, MaxIdleConns and MaxIdleConnsPerHost, each for both
	// by itself, IdleConnTimeout and DisableKeepAlives. Its DialContext opens the connections;
	// DialTLSContext is set. HTTP/2 is offered if ForceAttemptHTTP2 is set. It is
	// not to be used otherwise. Required.
	Base *http.Transport

	// Proxy is the HTTP proxy at which all of Base's connections end, so that
	// requests for http are sent to it in absolute form, with the credentials
	// that it holds. Nil: connections end at the origins.
	Proxy *url.URL
}

// Transport is an http.RoundTripper. Make one with New; it is safe for
// concurrent use. A response's body must be read to its end or closed, or its
// connection stays open.
type Transport struct {
	base          *http.Transport
	tls           *tls.Config
	authorization string // for the proxy; empty: none
	proxied       bool
	pool          pool
}

// New returns a Transport. It does no I/O.
func New(c Config) *Transport {
	t := &Transport{base: c.Base, tls: &tls.Config{}, proxied: c.Proxy != nil}
	if c.Base.TLSClientConfig != nil {
		t.tls = c.Base.TLSClientConfig.Clone() // http.Transport writes to its own, when it is first used
	}
	if t.tls.ClientSessionCache == nil {
		// For this Transport alone, whose roots do not change. Sessions are kept
		// by name, and taken up only with a certificate that is still good for it;
		// 0-RTT data, which could be replayed, crypto/tls does not send.
		t.tls.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
	}
	if c.Proxy != nil {
		t.base.Proxy = http.ProxyURL(c.Proxy)
		t.authorization = basic(c.Proxy.User)
	}
	t.pool.init(c.Base)
	t.base.DialTLSContext = t.dialTLS
	return t
}

// RoundTrip makes one request. Errors are those of net/http and of the
// connection, and context.Cause where the request's context ended; a
// *RequestError is a request of which nothing was sent, a *TrailerError one of
// which all but the trailers was, a *FramingError a
// response that cannot be read in one way alone. As with net/http, whether a
// status, a 101 above all, or a version is one that was asked for is for the
// caller to look at, and a body may be closed after RoundTrip returned.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	err := t.check(req)
	if err == nil && req.Context().Err() != nil {
		err = context.Cause(req.Context())
	}
	if err != nil {
		closeBody(req)
		return nil, err
	}
	h := hooksOf(req.Context())
	host := t.pool.host(keyOf(req.URL, t.proxied))
	if !host.key.secure || !t.base.ForceAttemptHTTP2 || len(req.Header["Upgrade"]) > 0 { // an upgrade is for HTTP/1.1 alone
		return t.roundTrip(req, h, host, only1)
	}
	known, learner, err := host.protocol(req.Context())
	switch {
	case err != nil:
		closeBody(req)
		return nil, err
	case known == http2:
		return t.behind(req, h, host)
	case learner != nil:
		defer host.gaveUp(learner) // others wait, whatever becomes of this request
		return t.open(req, h, host, either)
	}
	return t.roundTrip(req, h, host, either)
}

// roundTrip makes a request on a connection that is kept, or on a new one. A
// kept one may have been closed by the origin before the request came there:
// then one that may be repeated is sent once more (RFC 9110 §9.2.2).
func (t *Transport) roundTrip(req *http.Request, h hooks, host *host, protocols []string) (*http.Response, error) {
	if c := t.pool.take(host); c != nil {
		resp, err := t.roundTripOn(c, req, h)
		if err == nil || !errors.Is(err, errStale) {
			return resp, err
		}
	}
	return t.open(req, h, host, protocols)
}

// open makes a request on a new connection.
func (t *Transport) open(req *http.Request, h hooks, host *host, protocols []string) (*http.Response, error) {
	ctx := req.Context()
	c, err := t.dial(ctx, host, protocols)
	var over2 *http2Conn
	switch {
	case errors.As(err, &over2):
		return t.over2(req, h, host, over2.Conn)
	case err != nil:
		closeBody(req)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if len(protocols) == len(either) {
		host.learned(http1)
	}
	return t.roundTripOn(c, req, h)
}

// CloseIdleConnections closes what is kept, and what comes back before there is
// another request.
func (t *Transport) CloseIdleConnections() {
	t.pool.closeIdle()
	t.base.CloseIdleConnections()
}

// dial opens a connection to a host, which may be an *http2Conn as an error.
func (t *Transport) dial(ctx context.Context, h *host, protocols []string) (*conn, error) {
	raw, err := t.base.DialContext(ctx, "tcp", h.addr())
	if err != nil {
		return nil, err
	}
	if !h.key.secure {
		return t.newConn(h, raw), nil
	}
	secure, err := t.handshake(ctx, raw, h.addr(), protocols)
	if err != nil {
		return nil, err
	}
	if isHTTP2(secure) {
		return nil, &http2Conn{secure}
	}
	return t.newConn(h, secure), nil
}

// deadline is when something must have happened that began now; the zero Time
// where d is 0, which is never.
func deadline(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// isHTTP2 reports whether HTTP/2 was agreed on for a connection.
func isHTTP2(c net.Conn) bool {
	t, ok := c.(*tls.Conn)
	return ok && t.ConnectionState().NegotiatedProtocol == "h2"
}
