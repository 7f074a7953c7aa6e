package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"sync/atomic"
	"time"

	"heed/internal/audit"
)

// newTransport returns the way to the origins. Unlike goproxy's own it has
// time limits, verifies certificates, ignores the environment's proxies,
// leaves bodies as they are, and keeps enough idle connections for a crawl.
func (p *Proxy) newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            p.Dial,
		Proxy:                  nil,
		TLSClientConfig:        &tls.Config{RootCAs: p.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    p.Timeouts.TLSHandshake,
		ResponseHeaderTimeout:  p.Timeouts.ResponseHeader,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        p.Timeouts.Idle,
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: int64(p.Limits.Header),
		ReadBufferSize:         16 << 10,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
	}
}

// forward sends the request to its origin and returns the answer. It is the
// last stage: nothing that is denied gets here.
func (p *Proxy) forward(x *exchange) *http.Response {
	x.entry.Verdict = audit.Forwarded
	out, err := p.outgoing(x)
	if err != nil {
		return p.failed(x, err)
	}
	asked := time.Now()
	resp, err := p.roundTrip(x, out)
	x.w.endInterim()
	x.entry.OriginWait = time.Since(asked)
	if err != nil {
		return p.failed(x, err)
	}
	if err := checkAnswer(x, resp); err != nil {
		_ = resp.Body.Close()
		return p.failed(x, err)
	}
	p.incoming(x, resp)
	return resp
}

// roundTrip asks the origin, a second time where the first went out on a kept
// connection that the origin was just closing. net/http does that itself but
// for a connection that broke while the request was being written.
func (p *Proxy) roundTrip(x *exchange, out *http.Request) (*http.Response, error) {
	resp, err := p.transport.RoundTrip(out)
	var refused *problem
	if err != nil && errors.As(context.Cause(out.Context()), &refused) {
		return nil, refused
	}
	if err == nil || !x.reused.Load() || !repeatable(out) || out.Context().Err() != nil || problemOf(err).kind != kindTerminated {
		return resp, err
	}
	return p.transport.RoundTrip(out)
}

// repeatable reports whether a request may be sent twice (RFC 9110 §9.2.2).
func repeatable(out *http.Request) bool {
	switch out.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return out.Body == http.NoBody
	}
	return false
}

// maxAttempts is how often a request is given to an origin that says, in HTTP/2,
// that it did not look at it (REFUSED_STREAM, GOAWAY): net/http goes on for a
// minute, or without a pause for as long as the client waits.
const maxAttempts = 3

// maxInterim is how many 1xx answers of an origin are taken for a request.
const maxInterim = 100

// outgoing makes the request for the origin: the same method, target octets,
// fields and body, less what is between client and proxy.
func (p *Proxy) outgoing(x *exchange) (*http.Request, error) {
	in := x.in
	h := endToEnd(in.Header)
	if isWebSocket(in.Header) {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	}
	if wantsTrailers(in.Header) {
		h["Te"] = []string{"trailers"}
	}
	if len(h["User-Agent"]) == 0 {
		h["User-Agent"] = []string{""} // net/http puts its own name in place of a missing one
	}
	p.addVia(h, in.ProtoMajor, in.ProtoMinor)
	out := &http.Request{
		Method:        in.Method,
		URL:           outURL(x.origin, x.sentTarget()),
		Host:          x.origin.Authority(),
		Header:        h,
		Body:          in.Body,
		ContentLength: in.ContentLength,
		Trailer:       in.Trailer,
	}
	if in.ContentLength == 0 {
		out.Body = http.NoBody
	}
	if _, err := url.Parse(out.URL.Scheme + "://" + out.URL.Host); err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	var interim, attempts atomic.Int32
	ctx, cancel := context.WithCancelCause(in.Context()) // ends with the one it is made of: the body is read with it
	trace := &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) {
			x.reused.Store(c.Reused)
			if isHTTP2(c.Conn) && attempts.Add(1) > maxAttempts {
				cancel(&problem{kind: kindTerminated, cause: fmt.Errorf("the origin did not take the request, %d times", maxAttempts)})
			}
		},
		Got1xxResponse: func(code int, fields textproto.MIMEHeader) error {
			if interim.Add(1) > maxInterim { // net/http leaves the bound to this function
				return &problem{kind: kindBadAnswer, cause: fmt.Errorf("the origin sent more than %d interim answers (1xx) and no final one", maxInterim)}
			}
			if code != http.StatusContinue { // the client's own 100 is sent when its body is read
				x.w.writeInterim(code, endToEnd(http.Header(fields)))
			}
			return nil
		},
	}
	return out.WithContext(httptrace.WithClientTrace(ctx, trace)), nil
}

// isHTTP2 reports whether HTTP/2 was agreed on for a connection.
func isHTTP2(c net.Conn) bool {
	t, ok := c.(*tls.Conn)
	return ok && t.ConnectionState().NegotiatedProtocol == "h2"
}

// checkAnswer refuses answers that would be misunderstood.
func checkAnswer(x *exchange, resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		if !isWebSocket(x.in.Header) || !isWebSocket(resp.Header) {
			return &problem{kind: kindBadAnswer, cause: errors.New("the origin switched protocols (101) though nobody asked for it")}
		}
	case resp.StatusCode < 200:
		return &problem{kind: kindBadAnswer, cause: fmt.Errorf("the origin answered with the status %03d, which does not exist", resp.StatusCode)}
	case !versionSpoken(resp):
		return &problem{kind: kindBadAnswer, cause: fmt.Errorf("the origin answered in %s, which was not asked for", resp.Proto)}
	}
	return nil
}

// versionSpoken reports whether an answer is of the version that is spoken on
// its connection: net/http takes the words "HTTP/2.0" and "HTTP/0.9" for what
// they say.
func versionSpoken(resp *http.Response) bool {
	if resp.TLS != nil && resp.TLS.NegotiatedProtocol == "h2" {
		return resp.ProtoMajor == 2
	}
	return resp.ProtoMajor == 1
}

// incoming makes the answer fit for the client.
func (p *Proxy) incoming(x *exchange, resp *http.Response) {
	upgraded := resp.StatusCode == http.StatusSwitchingProtocols
	resp.Header = endToEnd(resp.Header)
	p.addVia(resp.Header, resp.ProtoMajor, resp.ProtoMinor)
	delete(resp.Header, "Alt-Svc") // it would lead the client past this proxy, over HTTP/3
	if len(resp.Trailer) > 0 && x.in.ProtoMajor == 1 && wantsTrailers(x.in.Header) {
		delete(resp.Header, "Content-Length") // HTTP/1.1 has trailers behind chunks alone, HTTP/2 has both
	}
	x.w.forwarded = true
	if upgraded {
		resp.Header["Connection"], resp.Header["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
		if origin, ok := resp.Body.(io.ReadWriteCloser); ok {
			x.w.upgrade = newUpgrade(origin, p.Timeouts.Idle)
			resp.Body = &upgradedOrigin{x.w.upgrade, x.w}
		}
		return
	}
	resp.Body = &originBody{ReadCloser: resp.Body, w: x.w}
}

// originBody notes how an answer's body ended, which goproxy does not tell.
type originBody struct {
	io.ReadCloser
	w *responseWriter
}

// Read passes errors other than the end on to the writer.
func (b *originBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.w.cut = err
	}
	return n, err
}
