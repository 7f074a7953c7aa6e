package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Server is made of.
type Config struct {
	// Handler answers requests; its ResponseWriter is a *Response. Required.
	Handler http.Handler

	// Malformed returns what is sent to a client whose request cannot be read, as
	// it goes over the connection, which is closed then. Required.
	Malformed func(c net.Conn, f *Fault) []byte

	// Errors is told why a listener had no connection for once, as when
	// descriptors have run out. Nil: nobody is.
	Errors func(error)

	// Awaited is told of a connection when a body is asked for that is not all
	// there. Nil: nobody is.
	Awaited func(c net.Conn)

	// Socket returns the connection of the system that one is on, below TLS, say:
	// it is asked whether the client's end has come. Nil: that is the connection
	// itself.
	Socket func(c net.Conn) net.Conn

	// Panicked is told of a panic that broke a connection off, with its stack;
	// of http.ErrAbortHandler it is not. Nil: nobody is.
	Panicked func(v any, stack []byte)

	HeaderTimeout time.Duration // for a header section, of the first request from the moment of being connected; 0: for ever
	IdleTimeout   time.Duration // between requests; and for a client to take or to send a part of a body; 0: for ever
	HeaderLimit   int           // octets of a header section; 0: 1 MiB, as net/http has it
}

// Server serves connections. Make one with New; it is safe for concurrent use.
type Server struct {
	config Config

	mu      sync.Mutex
	conns   map[*conn]struct{}
	listens map[net.Listener]struct{}
	closing atomic.Bool   // set under mu
	empty   chan struct{} // closed when the last connection goes; nil unless someone waits
}

const defaultHeaderLimit = 1 << 20

// New returns a Server.
func New(c Config) *Server {
	if c.HeaderLimit <= 0 {
		c.HeaderLimit = defaultHeaderLimit
	}
	if c.Errors == nil {
		c.Errors = func(error) {}
	}
	if c.Awaited == nil {
		c.Awaited = func(net.Conn) {}
	}
	if c.Socket == nil {
		c.Socket = func(c net.Conn) net.Conn { return c }
	}
	if c.Panicked == nil {
		c.Panicked = func(any, []byte) {}
	}
	return &Server{config: c, conns: map[*conn]struct{}{}, listens: map[net.Listener]struct{}{}}
}

// Between two attempts at a connection that the system had none for.
const (
	firstPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// Serve serves the connections of a listener until Shutdown or Close is called,
// and then returns http.ErrServerClosed; otherwise the listener's error.
func (s *Server) Serve(l net.Listener) error {
	if !s.listen(l) {
		return http.ErrServerClosed
	}
	defer s.unlisten(l)
	pause := time.Duration(0)
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			go s.ServeConn(context.Background(), c, nil)
		case s.closing.Load():
			return http.ErrServerClosed
		case passing(err):
			pause = min(max(2*pause, firstPause), mostPause)
			s.config.Errors(err)
			<-time.After(pause)
		default:
			return err
		}
	}
}

// passing reports whether an error of Accept is one of the moment.
func passing(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		_ = l.Close()
		return false
	}
	s.listens[l] = struct{}{}
	return true
}

func (s *Server) unlisten(l net.Listener) {
	_ = l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listens, l)
}

func (s *Server) panicked(v any) { s.config.Panicked(v, debug.Stack()) }

// ServeConn serves the requests of one connection until it ends or was taken
// over by Hijack. ready is what every request is told of the connection, before
// the handler has it; nil: nothing is. Of ctx requests have the values; that it
// ends has no effect.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn, ready func(*http.Request)) {
	c := &conn{Conn: nc, server: s, ready: ready}
	if !s.add(c) {
		_ = nc.Close()
		return
	}
	defer s.drop(c)
	c.serve(ctx)
}

func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) drop(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if len(s.conns) == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

// close ends listening, and returns what is open.
func (s *Server) close() (open []*conn, empty <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	for l := range s.listens {
		_ = l.Close()
	}
	for c := range s.conns {
		open = append(open, c)
	}
	if len(open) == 0 {
		return nil, nil
	}
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	return open, s.empty
}

// Shutdown closes the listeners and the connections on which nothing is under
// way, and waits until the others have ended with the answer that they are at.
// When ctx ends first it returns its error; those are still open then.
// Connections that were taken over are not waited for.
func (s *Server) Shutdown(ctx context.Context) error {
	open, empty := s.close()
	for _, c := range open {
		if c.state.CompareAndSwap(idle, ended) {
			_ = c.Close()
		}
	}
	if len(open) == 0 {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the listeners and every connection that was not taken over, and
// ends the contexts of the requests that are under way.
func (s *Server) Close() error {
	open, _ := s.close()
	for _, c := range open {
		if c.state.CompareAndSwap(idle, ended) || c.state.CompareAndSwap(active, ended) {
			_ = c.Close()
			c.watch.abort()
		}
	}
	return nil
}

// What a connection is at.
const (
	idle   int32 = iota
	active       // a request has begun
	taken        // over, by a handler
	ended
)

// Conns is how many connections are open that were not taken over.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
