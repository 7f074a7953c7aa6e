package proxy

import (
	"context"
	"errors"
	"log" // net/http asks for it: ErrorLog
	"net"
	"net/http"
	"strings"

	"github.com/rs/zerolog"
)

// newServer returns an http.Server with the limits that hold for clients on
// every channel. There is no limit on a whole request or answer: bodies are
// streamed for as long as they move.
func (p *Proxy) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: p.Timeouts.ClientHeader,
		IdleTimeout:       p.Timeouts.Idle,
		MaxHeaderBytes:    p.Limits.Header,
		ErrorLog:          log.New(serverLog{p.Log}, "", 0),
	}
}

// Serve takes clients from l until ctx ends or Shutdown is called. It returns
// when the listener and the servers inside tunnels have ended; exchanges under
// way may go on until Shutdown returns.
func (p *Proxy) Serve(l net.Listener) error {
	inside := make(chan error, 1)
	go func() { inside <- p.inside.serve() }()
	err := closed(p.outer.Serve(l))
	return errors.Join(err, <-inside)
}

// Shutdown closes the listener and waits until exchanges and tunnels have
// ended. When ctx ends first, what is left is cut off.
func (p *Proxy) Shutdown(ctx context.Context) error {
	errs := []error{p.outer.Shutdown(ctx)}
	for _, s := range []*http.Server{p.inside.plainServer, p.inside.tlsServer} {
		errs = append(errs, s.Shutdown(ctx))
	}
	p.raw.drain(ctx)
	for _, s := range []*http.Server{p.outer, p.inside.plainServer, p.inside.tlsServer} {
		_ = s.Close() // what Shutdown left
	}
	p.transport.CloseIdleConnections()
	return errors.Join(errs...)
}

// Tunnels is how many connections were taken over and are still open.
func (p *Proxy) Tunnels() int { return p.raw.count() }

// serverLog takes net/http's lines. One of them matters to people: a client
// that does not trust heed's CA.
type serverLog struct{ log zerolog.Logger }

func (l serverLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.Contains(text, "TLS handshake error") && strings.Contains(text, "certificate") {
		l.log.Warn().Str("error", text).
			Str("hint", "the client does not trust heed's CA: see `heed env`, `heed ca export`, or http://"+Host+"/").
			Msg("client refused heed's certificate")
		return len(line), nil
	}
	l.log.Debug().Str("error", text).Msg("server")
	return len(line), nil
}
