package roundtrip

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync/atomic"
)

// Exchange is what a caller wants to say and to know about one round trip,
// beside request and response. Its functions are called before RoundTrip
// returns; with the http.Transport behind, on goroutines of its own, and
// perhaps after a failed RoundTrip has returned. The zero value asks for
// nothing.
type Exchange struct {
	// Request is the header section, from the request line to the empty line,
	// in whose spelling and order fields are sent. Which fields, and their
	// values, is for Request.Header alone to say: those that are not in it are
	// not sent, and those that are not here follow, sorted. It may be cut
	// anywhere. Nil: all are sorted.
	Request []byte

	// Response is overwritten with the header section of the answer, as it came;
	// empty where that was in HTTP/2 or came through the http.Transport.
	Response []byte

	// Sending is asked when there is a connection, and the request is about to be
	// written to it; again where it is sent once more. Nil: nobody is.
	Sending Sender

	// Interim is told of answers with a status 1xx other than 101, and of their
	// header sections as they came, or nil as with Response. Its error ends the
	// request. Nil: they are dropped, up to a hundred.
	Interim func(status int, fields http.Header, section []byte) error
}

// Sender says when a request goes out. It may take its time, while ctx lasts. Its
// error ends the request, of which nothing is sent then.
type Sender interface {
	Send(ctx context.Context) error
}

// notSent is the error of a Sender.
type notSent struct{ error }

// Key is the key under which the context of a request has its *Exchange.
type Key struct{}

// With returns a context for a request whose round trip is e.
func With(ctx context.Context, e *Exchange) context.Context {
	return context.WithValue(ctx, Key{}, e)
}

// hooks is whoever is told of what goes on: an Exchange, or without one the hooks
// of httptrace, as http.Transport calls them.
type hooks struct {
	exchange *Exchange              // nil: none
	trace    *httptrace.ClientTrace // nil: none
}

func hooksOf(ctx context.Context) hooks {
	if e, ok := ctx.Value(Key{}).(*Exchange); ok {
		return hooks{exchange: e}
	}
	return hooks{trace: httptrace.ContextClientTrace(ctx)}
}

// connected tells that there is a connection. An error is why nothing is to be
// sent on it.
func (h hooks) connected(ctx context.Context, c *conn) error {
	if h.exchange != nil && h.exchange.Sending != nil {
		return h.exchange.Sending.Send(ctx)
	}
	if h.trace != nil && h.trace.GotConn != nil {
		h.trace.GotConn(httptrace.GotConnInfo{Conn: c.Conn, Reused: c.used})
		return context.Cause(ctx) // it may have ended the request
	}
	return nil
}

func (h hooks) interim(resp *http.Response, section []byte) error {
	if h.exchange != nil && h.exchange.Interim != nil {
		if err := h.exchange.Interim(resp.StatusCode, resp.Header, section); err != nil {
			return err
		}
	}
	if h.trace != nil && h.trace.Got1xxResponse != nil {
		return h.trace.Got1xxResponse(resp.StatusCode, textproto.MIMEHeader(resp.Header))
	}
	return nil
}

// sent is the header section in whose order fields are sent.
func (h hooks) sent() []byte {
	if h.exchange == nil {
		return nil
	}
	return h.exchange.Request
}

// received keeps the header section of the answer.
func (h hooks) received(head []byte) []byte {
	if h.exchange == nil {
		return nil
	}
	h.exchange.Response = append(h.exchange.Response[:0], head...)
	return h.exchange.Response
}

// traced returns the context by which http.Transport calls the functions of an
// Exchange, and is ended by cancel when it goes on for too long; and whether the
// last connection that it took had been kept.
func (h hooks) traced(ctx context.Context, cancel context.CancelCauseFunc) (context.Context, *atomic.Bool) {
	e := h.exchange
	e.Response = e.Response[:0]
	reused := new(atomic.Bool)
	var attempts atomic.Int32
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		reused.Store(c.Reused)
		if e.Sending != nil {
			if err := e.Sending.Send(ctx); err != nil {
				cancel(notSent{err})
				return
			}
		}
		if isHTTP2(c.Conn) && attempts.Add(1) > maxAttempts {
			cancel(errNotTaken)
		}
	}}
	if e.Interim != nil {
		var interim atomic.Int32
		trace.Got1xxResponse = func(status int, fields textproto.MIMEHeader) error {
			if interim.Add(1) > maxInterim { // net/http leaves the bound to this function
				return errTooManyInterim
			}
			if status == http.StatusSwitchingProtocols { // to net/http one like any other
				return errSwitchInHTTP2
			}
			return e.Interim(status, http.Header(fields), nil)
		}
	}
	return httptrace.WithClientTrace(ctx, trace), reused
}
