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
type phase struct{ at atomic.Int32 }

const (
	phaseStart int32 = iota
	phaseResolving
	phaseConnecting
	phaseHandshake
	phaseWaiting
)

// errResolving is a name that did not resolve in time.
var errResolving = errors.New("resolving the name")

// watch returns a context that reports on a request made with it. A transport
// may go on dialling after the request failed, so the phase is read at once.
func watch(ctx context.Context) (context.Context, *phase) {
	p := new(phase)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { p.at.Store(phaseResolving) },
		ConnectStart:      func(string, string) { p.at.Store(phaseConnecting) },
		TLSHandshakeStart: func() { p.at.Store(phaseHandshake) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { p.at.Store(phaseStart) },
		GotConn:           func(httptrace.GotConnInfo) { p.at.Store(phaseWaiting) },
	}), p
}

// of adds to an error of time what was going on.
func (p *phase) of(err error) error {
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		return err
	}
	switch p.at.Load() {
	case phaseResolving:
		return fmt.Errorf("%w: %w", errResolving, err)
	case phaseConnecting:
		return fmt.Errorf("connecting: %w", err)
	case phaseHandshake:
		return fmt.Errorf("in the TLS handshake: %w", err)
	case phaseWaiting:
		return fmt.Errorf("waiting for the header: %w", err)
	}
	return err
}
