package bypass

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// channel is a way by which a request comes to heed. They are bits of a set.
type channel uint8

const (
	p  channel = 1 << iota // octets on the proxy's own port
	c                      // octets in a CONNECT to port 80
	m                      // octets of HTTP/1.1 in an intercepted CONNECT to port 443
	h2                     // frames in one

	raw = p | c | m
	all = raw | h2
)

var channels = []struct {
	channel
	name string
}{{p, "P"}, {c, "C"}, {m, "M"}, {h2, "H2"}}

// patience is for how long an answer is waited for.
const patience = 20 * time.Second

// answer is what came back. A status of 0 is a connection that was closed, or a
// stream that was reset, without one.
type answer struct {
	status int
	fields http.Header
	body   string
}

func itoa(n int) string { return strconv.Itoa(n) }

// dial opens a connection to heed.
func (h *heed) dial() (net.Conn, error) {
	conn, err := net.Dial("tcp", h.Proxy)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(patience))
}

// tunnel opens a CONNECT; what was said to it is the error if that was not 200.
func (h *heed) tunnel(authority string) (net.Conn, error) {
	conn, err := h.dial()
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != http.StatusOK {
		conn.Close()
		return nil, fmt.Errorf("CONNECT %s: %v, %w", authority, resp, err)
	}
	if r.Buffered() > 0 {
		return nil, errors.New("octets behind the answer to CONNECT")
	}
	return conn, nil
}

// secure opens an intercepted tunnel with a protocol.
func (h *heed) secure(authority, protocol string) (net.Conn, error) {
	conn, err := h.tunnel(authority)
	if err != nil {
		return nil, err
	}
	name, _, _ := net.SplitHostPort(authority)
	inside := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: h.trust, NextProtos: []string{protocol}})
	if err := inside.Handshake(); err != nil {
		conn.Close()
		return nil, err
	}
	return inside, nil
}

// open opens the channel for an origin: host, or host:port.
func (h *heed) open(ch channel, authority string) (net.Conn, error) {
	port := "80"
	if ch >= m {
		port = "443"
	}
	if _, _, err := net.SplitHostPort(authority); err != nil {
		authority = net.JoinHostPort(strings.Trim(authority, "[]"), port)
	}
	switch ch {
	case p:
		return h.dial()
	case c:
		return h.tunnel(authority)
	case m:
		return h.secure(authority, "http/1.1")
	}
	return h.secure(authority, "h2")
}

// send writes octets and reads the answer to them.
func send(conn net.Conn, method, octets string) (answer, error) {
	if _, err := io.WriteString(conn, octets); err != nil && !isReset(err) {
		return answer{}, err
	}
	return receive(bufio.NewReader(conn), method)
}

// receive reads an answer. Interim ones are passed over.
func receive(r *bufio.Reader, method string) (answer, error) {
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || isReset(err) {
				return answer{}, nil
			}
			return answer{}, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil && !isReset(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return answer{}, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return answer{status: resp.StatusCode, fields: resp.Header, body: string(body)}, nil
		}
	}
}

func isReset(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "broken pipe") || strings.Contains(err.Error(), "closed"))
}

// streams is a client of HTTP/2 that speaks frame by frame.
type streams struct {
	*http2.Framer
	conn net.Conn
	next uint32
}

func newStreams(conn net.Conn) (*streams, error) {
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	s := &streams{Framer: http2.NewFramer(conn, conn), conn: conn, next: 1}
	s.AllowIllegalWrites = true
	s.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return s, s.WriteSettings()
}

// section encodes fields, a name and its value each.
func section(fields ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // into memory
	}
	return b.Bytes()
}

// ask sends a request on the next stream and reads its answer.
func (s *streams) ask(body string, fields ...string) (answer, error) {
	id := s.next
	s.next += 2
	err := s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: section(fields...), EndStream: body == "", EndHeaders: true})
	if err == nil && body != "" {
		err = s.WriteData(id, true, []byte(body))
	}
	if err != nil && !isReset(err) {
		return answer{}, err
	}
	return s.receive(id)
}

func (s *streams) receive(id uint32) (a answer, err error) {
	for {
		frame, err := s.ReadFrame()
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err) {
				return a, nil
			}
			return a, err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = s.WriteSettingsAck() // a connection that is gone is seen above
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = s.WritePing(true, f.Data) // as above
			}
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return a, nil
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				return a, nil
			}
		case *http2.MetaHeadersFrame:
			if f.StreamID != id {
				continue
			}
			status, _ := strconv.Atoi(f.PseudoValue("status"))
			if status >= 200 {
				a.status, a.fields = status, http.Header{}
				for _, field := range f.RegularFields() {
					a.fields.Add(field.Name, field.Value)
				}
			}
			if f.StreamEnded() {
				return a, nil
			}
		case *http2.DataFrame:
			if f.StreamID != id {
				continue
			}
			a.body += string(f.Data())
			if f.StreamEnded() {
				return a, nil
			}
		}
	}
}
