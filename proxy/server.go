package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log" //nolint:depguard // net/http asks for one: Server.ErrorLog
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/serving"
)

// settleTime is how long Shutdown waits for exchanges that it has cut off.
const settleTime = time.Second

// newServer returns what serves HTTP/1.1, on the proxy's own port and inside
// tunnels. There is no limit on a whole request or answer: bodies are streamed
// for as long as they move.
func (p *Proxy) newServer() *serving.Server {
	return serving.New(serving.Config{
		Handler:       http.HandlerFunc(p.serveExchange),
		Malformed:     p.malformed,
		Errors:        func(err error) { p.Log.Error().Err(err).Msg("accepting a client failed; trying again") },
		Awaited:       acknowledge,
		Socket:        bottom,
		Panicked:      p.panicked,
		HeaderTimeout: p.Timeouts.ClientHeader,
		IdleTimeout:   p.Timeouts.Idle,
		HeaderLimit:   p.Limits.Header,
	})
}

// panicked says what no exchange's own recovery has seen.
func (p *Proxy) panicked(v any, stack []byte) {
	p.Log.Error().Str("panic", fmt.Sprint(v)).Bytes("stack", stack).Msg("serving a client panicked")
}

// newHTTP2 returns what serves HTTP/2 inside TLS inside tunnels.
func (p *Proxy) newHTTP2(protocols *tls.Config) *http.Server {
	s := &http.Server{
		Handler:           http.HandlerFunc(p.serveExchange),
		ConnContext:       withConn,
		ConnState:         p.followConn,
		ReadHeaderTimeout: p.Timeouts.ClientHeader,
		IdleTimeout:       p.Timeouts.Idle,
		MaxHeaderBytes:    2 * p.Limits.Header,                                  // section.go tells who sends more than one; above two net/http does, or ends the connection
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: p.Timeouts.Idle}, // a stream is not given up (stall.go) while nothing at all can be written
		TLSConfig:         protocols.Clone(),                                    // by its NextProtos Serve knows that it is to speak HTTP/2
		ErrorLog:          log.New(serverLog{p.Log}, "", 0),

		DisableGeneralOptionsHandler: true, // OPTIONS * is for the origin
	}
	markScheme(s)
	return s
}

// Serve takes clients from l until Shutdown is called, and then returns nil;
// exchanges under way may go on until Shutdown returns. An error is that of
// the listener: what is under way was cut off, and Shutdown is still to be
// called.
func (p *Proxy) Serve(l net.Listener) error {
	inside := make(chan error, 1)
	go func() { inside <- p.inside.serve() }()
	err := closed(p.server.Serve(clientListener{eitherListener{l, p.ownTLS()}}))
	if err != nil {
		_ = p.inside.server.Close()
	}
	return errors.Join(err, <-inside)
}

// closed drops the error by which a server says that it was shut down.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown closes the listener and waits until exchanges and tunnels have
// ended and are recorded. When ctx ends first, what is left is cut off.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.ending.Store(&ctx)
	ended := make(chan error, 2)
	go func() { ended <- p.server.Shutdown(ctx) }()
	go func() { ended <- p.inside.server.Shutdown(ctx) }()
	err := errors.Join(<-ended, <-ended, p.raw.drain(ctx))
	if err == nil {
		err = p.work.wait(ctx)
	}
	_ = p.server.Close() // what Shutdown left
	_ = p.inside.server.Close()
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	p.ahead.end()
	_ = p.work.wait(settled) // exchanges that were cut off notice it
	if t, ok := p.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
	return err
}

// Tunnels is how many connections were taken over and are still open.
func (p *Proxy) Tunnels() int { return p.raw.count() }

// serverLog takes net/http's lines. They may hold what a client sent, so each
// goes into a field.
type serverLog struct{ log zerolog.Logger }

// Write takes one line.
func (l serverLog) Write(line []byte) (int, error) {
	l.log.Debug().Str("error", strings.TrimSpace(string(line))).Msg("server")
	return len(line), nil
}
