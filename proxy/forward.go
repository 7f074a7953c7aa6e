package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
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
		HTTP2:                  p.originHTTP2(),
	}
}

// originHTTP2 bounds what net/http leaves unbounded in HTTP/2. An origin that
// sends and does not read would keep the client waiting, and the connection, for
// ever. And one that is gone without a word, behind a firewall that forgot the
// connection say, would be asked on it again and again, where in HTTP/1.1 each
// next request has a new one: PING tells, early enough to ask elsewhere while
// the client still waits.
func (p *Proxy) originHTTP2() *http.HTTP2Config {
	return &http.HTTP2Config{
		WriteByteTimeout: p.Timeouts.ResponseHeader,
		SendPingTimeout:  p.Timeouts.ResponseHeader / 2,
		PingTimeout:      p.Timeouts.ResponseHeader / 4,
	}
}

// forward sends the request to its origin and returns the answer. It is the
// last stage: nothing that is denied gets here, and what would be in another mode
// is marked.
func (p *Proxy) forward(x *exchange) *http.Response {
	x.entry.Verdict = audit.Forwarded
	out := p.outgoing(x)
	asked := time.Now()
	resp, err := p.transport.RoundTrip(out)
	x.w.endInterim()
	x.entry.OriginWait = time.Since(asked)
	if err != nil {
		return p.failed(x, err)
	}
	x.answered(resp)
	if err := checkAnswer(x, resp); err != nil {
		_ = resp.Body.Close()
		return p.failed(x, err)
	}
	p.incoming(x, resp)
	return resp
}

// outgoing makes the request for the origin: the same method, target octets,
// fields and body, less what is between client and proxy. From here on the
// client's fields are the origin's.
func (p *Proxy) outgoing(x *exchange) *http.Request {
	in, h := x.in, x.in.Header
	x.wants = wants{webSocket: isWebSocket(h), trailers: wantsTrailers(h)}
	if !in.ProtoAtLeast(1, 1) { // neither means anything there (RFC 9110 §7.8, §10.1.1)
		x.wants.webSocket = false
		delete(h, "Expect")
	}
	countHop(in)
	endToEnd(h)
	switch {
	case x.wants.webSocket:
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	case x.wants.trailers:
		h["Te"] = []string{"trailers"}
	}
	dropAsker(in.Trailer)
	if p.StrictPaths {
		dropOtherTargets(h)
		dropOtherTargets(in.Trailer)
	}
	x.present(h)
	if len(h["User-Agent"]) == 0 {
		h["User-Agent"] = noAgent
	}
	p.via.add(h, in.ProtoMajor, in.ProtoMinor)
	x.outURL = outURL(x.origin, x.sentTarget())
	out := &x.out
	*out = *in // its context, fields and trailers
	out.URL, out.Host, out.RequestURI = &x.outURL, x.outURL.Host, ""
	out.TransferEncoding, out.Close = nil, false
	if in.ContentLength == 0 {
		out.Body = http.NoBody
	}
	x.trip.Interim = x.interim
	if p.Pacer != nil {
		x.departs = departure{x, p}
		x.trip.Sending = &x.departs
	}
	return out
}

// present says who asks as the configuration has it, in place of what the client
// says. That comes after endToEnd: whatever Connection names, this goes on.
func (x *exchange) present(h http.Header) {
	if x.client == nil {
		return
	}
	if ua := x.client.UserAgent; ua != "" {
		h["User-Agent"] = []string{ua}
	}
	if from := x.client.From; from != "" {
		h["From"] = []string{from}
	}
}

// noAgent keeps net/http from putting its own name in place of a missing one.
var noAgent = []string{""}

// interim passes an answer of the origin on that is not the final one. The
// client's own 100 is sent when its body is read.
func (x *exchange) interim(status int, fields http.Header, section []byte) error {
	if status != http.StatusContinue {
		endToEnd(fields)
		delete(fields, "Robots-Decision") // as of the final one
		x.w.writeInterim(status, fields, section)
	}
	return nil
}

// checkAnswer refuses answers that would be misunderstood.
func checkAnswer(x *exchange, resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		if !x.wants.webSocket || !isWebSocket(resp.Header) {
			return &problem{kind: kindBadAnswer, cause: errors.New("the origin switched protocols (101) though nobody asked for it")}
		}
	case resp.StatusCode < 200, resp.StatusCode > 999: // in HTTP/2 net/http takes any number
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

// incoming makes the answer fit for the client. Its fields go to the client's
// side at once: goproxy would copy each.
func (p *Proxy) incoming(x *exchange, resp *http.Response) {
	h := resp.Header
	endToEnd(h)
	p.via.add(h, resp.ProtoMajor, resp.ProtoMinor)
	delete(h, "Alt-Svc")         // it would lead the client past this proxy, over HTTP/3
	delete(h, "Robots-Decision") // it would pass for heed's
	if x.entry.Report {
		h["Robots-Decision"] = []string{p.decisionField(x)}
	}
	delete(resp.Trailer, "Robots-Decision") // that it will come
	if len(resp.Trailer) > 0 && x.in.ProtoMajor == 1 && x.wants.trailers || resp.StatusCode == http.StatusNoContent {
		delete(h, "Content-Length") // HTTP/1.1 has trailers behind chunks alone, HTTP/2 has both; 204 has none (RFC 9110 §8.6)
	}
	x.w.forwarded = true
	if resp.StatusCode == http.StatusSwitchingProtocols {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
		if origin, ok := resp.Body.(io.ReadWriteCloser); ok {
			x.w.upgrade = newUpgrade(origin, p.Timeouts.Idle)
			resp.Body = &upgradedOrigin{x.w.upgrade, &x.w}
		}
		return // by its fields goproxy knows a WebSocket
	}
	if resp.ProtoMajor == 2 && (resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified) {
		_ = resp.Body.Close() // there is none, whatever length is told: net/http takes its absence for an answer that broke off
		resp.Body = http.NoBody
	}
	x.handFields(resp)
	x.outBody = originBody{ReadCloser: resp.Body, w: &x.w, of: resp}
	resp.Body = &x.outBody
}

// handFields gives the fields of an answer to the client's side, in the order of
// the origin's where it is one of an origin.
func (x *exchange) handFields(resp *http.Response) {
	switch {
	case x.w.own == nil:
		maps.Copy(x.w.Header(), resp.Header)
	case x.w.forwarded:
		x.w.own.Like(resp.Header, x.trip.Response)
	default:
		x.w.own.Like(resp.Header, nil)
	}
	resp.Header = noFields
}

// noFields is for goproxy to copy. Nobody writes to it.
var noFields = http.Header{}

// originBody notes how an answer's body ended, which goproxy does not tell, and
// looks at the trailers that came behind it.
type originBody struct {
	io.ReadCloser
	w  *responseWriter
	of *http.Response
}

// Close ends the body. The trailers are all there, and are passed on next
// (http.go:121): what would pass for heed's decision is not, declared or not.
func (b *originBody) Close() error {
	err := b.ReadCloser.Close()
	delete(b.of.Trailer, "Robots-Decision")
	return err
}

// Ready reports whether something has come that was not read yet.
func (b *originBody) Ready() bool {
	r, ok := b.ReadCloser.(interface{ Ready() bool })
	return ok && r.Ready()
}

// Read passes errors other than the end on to the writer.
func (b *originBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.w.cut = err
	}
	return n, err
}
