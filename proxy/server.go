package proxy

import (
	"context"
	"errors"
	"log" //nolint:depguard // net/http asks for one: Server.ErrorLog
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// settleTime is how long Shutdown waits for exchanges that it has cut off.
const settleTime = time.Second

// newServer returns an http.Server with the limits that hold for clients on
// every channel. There is no limit on a whole request or answer: bodies are
// streamed for as long as they move.
func (p *Proxy) newServer() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(p.serveExchange),
		ConnContext:       withConn,
		ConnState:         p.followConn,
		ReadHeaderTimeout: p.Timeouts.ClientHeader,
		IdleTimeout:       p.Timeouts.Idle,
		MaxHeaderBytes:    p.Limits.Header,
		ErrorLog:          log.New(serverLog{p.Log}, "", 0),
	}
}

// followConn sees what becomes of a connection.
func (p *Proxy) followConn(c net.Conn, s http.ConnState) {
	followHead(c, s)
	p.followLeave(c, s)
}

// Serve takes clients from l until Shutdown is called, and then returns nil;
// exchanges under way may go on until Shutdown returns. An error is that of
// the listener: what is under way was cut off, and Shutdown is still to be
// called.
func (p *Proxy) Serve(l net.Listener) error {
	inside := make(chan error, 1)
	go func() { inside <- p.inside.serve() }()
	err := closed(p.outer.Serve(clientListener{eitherListener{l, p.ownTLS()}, p}))
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
	ended := make(chan error, 2)
	for _, s := range []*http.Server{p.outer, p.inside.server} {
		go func() { ended <- s.Shutdown(ctx) }()
	}
	err := errors.Join(<-ended, <-ended, p.raw.drain(ctx))
	if err == nil {
		err = p.work.wait(ctx)
	}
	_ = p.outer.Close() // what Shutdown left
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
