package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// phase is how far a request has come. It tells a name that did not resolve
// in time from an origin that did not answer, which the transport reports with
// the same error.
type phase struct {
	at          atomic.Int32
	connections atomic.Int32 // that the request was given
}

const (
	phaseStart int32 = iota
	phaseResolving
	phaseConnecting
	phaseHandshake
	phaseWaiting
)

// mostConnections is how many connections a request is given. net/http goes on
// for as long as the origin says, in HTTP/2, that it did not look at it.
const mostConnections = 2

// errRefused is an origin that says so again and again.
var errRefused = errors.New("the origin refused the request as often as it came")

// errResolving is a name that did not resolve in time.
var errResolving = errors.New("resolving the name")

// watch returns a context that reports on a request made with it, and ends it
// when it is made too often. send is called whenever it is to go out, and its
// error ends it. A transport may go on dialling after the request failed, so the
// phase is read at once.
func watch(ctx context.Context, send func(context.Context) error) (context.Context, *phase) {
	p := new(phase)
	ctx, cancel := context.WithCancelCause(ctx) // ends with the one it is made of: the body is read with it
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { p.at.Store(phaseResolving) },
		ConnectStart:      func(string, string) { p.at.Store(phaseConnecting) },
		TLSHandshakeStart: func() { p.at.Store(phaseHandshake) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil { // else that is how far it came
				p.at.Store(phaseStart)
			}
		},
		GotConn: func(httptrace.GotConnInfo) {
			p.at.Store(phaseWaiting)
			if err := send(ctx); err != nil {
				cancel(err)
			}
			if p.connections.Add(1) > mostConnections {
				cancel(errRefused)
			}
		},
	}), p
}

// dialling says that a time was over before there was a connection, which the
// error of a context does not tell.
func dialling(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return err
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
}

// of adds to an error of time what was going on.
func (p *phase) of(err error) error {
	if p.connections.Load() > mostConnections {
		return errRefused
	}
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		return err
	}
	switch p.at.Load() {
	case phaseResolving:
		return fmt.Errorf("%w: %w", errResolving, err)
	case phaseConnecting:
		return fmt.Errorf("connecting: %w", dialling(err))
	case phaseHandshake:
		return fmt.Errorf("in the TLS handshake: %w", dialling(err))
	case phaseWaiting:
		return fmt.Errorf("waiting for the header: %w", err)
	}
	return err
}
