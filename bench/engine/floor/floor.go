// Package floor is a proxy that does as little as one can: it is what the
// sockets, the system calls and Go's scheduler cost, and so the floor under
// every proxy in Go. It is for the clients and the origin of this measurement
// alone. Header sections end where CR LF CR LF stands, bodies are as long as
// Content-Length says, requests have none, and nothing is checked.
package floor

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// Serve takes clients from l.
func Serve(l net.Listener) error {
	f := &floor{idle: map[string][]*upstream{}}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = c.Close() }()
			_ = f.client(c) // whatever went wrong, the client sees that it ended
		}()
	}
}

type floor struct {
	mu   sync.Mutex
	idle map[string][]*upstream // by host:port
}

// upstream is a connection to an origin and what is read of it.
type upstream struct {
	net.Conn
	buf []byte
}

var (
	headEnd = []byte("\r\n\r\n")
	length  = []byte("\r\nContent-Length: ")
	scheme  = []byte("http://")
	errForm = errors.New("not as the measurement's requests and answers are")
)

// client forwards one request after the other.
func (f *floor) client(c net.Conn) error {
	in, out := make([]byte, 8<<10), make([]byte, 0, 8<<10)
	have := 0
	for {
		n, err := c.Read(in[have:])
		if err != nil {
			return err
		}
		if have += n; !bytes.HasSuffix(in[:have], headEnd) {
			if have == len(in) {
				return errForm
			}
			continue
		}
		// GET http://host:port/path HTTP/1.1: the method is kept, the scheme and
		// the authority go.
		method := bytes.IndexByte(in[:have], ' ') + 1
		rest, absolute := bytes.CutPrefix(in[method:have], scheme)
		slash := bytes.IndexByte(rest, '/')
		if !absolute || slash < 0 {
			return errForm
		}
		out = append(append(out[:0], in[:method]...), rest[slash:]...)
		have = 0
		u, err := f.take(string(rest[:slash]))
		if err != nil {
			return err
		}
		if err := u.exchange(c, out); err != nil {
			_ = u.Close()
			return err
		}
		f.give(string(rest[:slash]), u)
	}
}

// exchange sends a request, and its answer to the client.
func (u *upstream) exchange(c net.Conn, request []byte) error {
	if _, err := u.Write(request); err != nil {
		return err
	}
	have, end := 0, -1
	for end < 0 {
		n, err := u.Read(u.buf[have:])
		if err != nil {
			return err
		}
		have += n
		end = bytes.Index(u.buf[:have], headEnd)
	}
	at := bytes.Index(u.buf[:end+2], length)
	if at < 0 {
		return errForm
	}
	digits := u.buf[at+len(length):]
	body, err := strconv.Atoi(string(digits[:bytes.IndexByte(digits, '\r')]))
	if err != nil {
		return err
	}
	left := body - (have - end - len(headEnd))
	if _, err := c.Write(u.buf[:have]); err != nil {
		return err
	}
	if left > 0 {
		_, err = io.CopyBuffer(only{c}, only{io.LimitReader(u.Conn, int64(left))}, u.buf)
	}
	return err
}

// only hides that the system could copy from socket to socket (splice): it was
// slower at the sizes that are measured.
type only struct{ any }

func (o only) Read(p []byte) (int, error)  { return o.any.(io.Reader).Read(p) }
func (o only) Write(p []byte) (int, error) { return o.any.(io.Writer).Write(p) }

func (f *floor) take(host string) (*upstream, error) {
	f.mu.Lock()
	all := f.idle[host]
	if n := len(all); n > 0 {
		u := all[n-1]
		f.idle[host] = all[:n-1]
		f.mu.Unlock()
		return u, nil
	}
	f.mu.Unlock()
	c, err := net.DialTimeout("tcp", host, 10*time.Second) //nolint:noctx // the time limit is enough
	if err != nil {
		return nil, err
	}
	return &upstream{c, make([]byte, 64<<10)}, nil
}

func (f *floor) give(host string, u *upstream) {
	f.mu.Lock()
	f.idle[host] = append(f.idle[host], u)
	f.mu.Unlock()
}
