package faults

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Stream is a request in HTTP/2, and the connection that it came in on.
type Stream struct {
	*Conn
	*h2.Framer
	ID uint32
}

// serveHTTP2 answers requests one at a time.
func (o *Origin) serveHTTP2(c *Conn) {
	preface := make([]byte, len(h2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != h2.ClientPreface {
		return
	}
	f := h2.NewFramer(c, c)
	f.AllowIllegalWrites = true
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if f.WriteSettings() != nil {
		return
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *h2.SettingsFrame:
			if !frame.IsAck() && f.WriteSettingsAck() != nil {
				return
			}
		case *h2.PingFrame:
			if !frame.IsAck() && f.WritePing(true, frame.Data) != nil {
				return
			}
		case *h2.MetaHeadersFrame:
			s := &Stream{Conn: c, Framer: f, ID: frame.StreamID}
			if o.note(c, frame.PseudoValue("authority"), frame.PseudoValue("path"), fieldsOf(frame)) {
				o.row.H2(s)
			} else {
				s.answer(o.good(c.Target))
			}
		}
	}
}

func fieldsOf(f *h2.MetaHeadersFrame) http.Header {
	h := http.Header{}
	for _, field := range f.RegularFields() {
		h.Add(field.Name, field.Value)
	}
	return h
}

// answer sends what reply made.
func (s *Stream) answer(whole string) {
	section, body, _ := strings.Cut(whole, "\r\n\r\n")
	lines := strings.Split(section, "\r\n")
	_, status, _ := strings.Cut(lines[0], " ")
	fields := []string{":status", status[:3]}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		fields = append(fields, strings.ToLower(name), value)
	}
	s.headers(body == "", fields...)
	if body != "" {
		_ = s.WriteData(s.ID, true, []byte(body))
	}
}

// headers sends a header section of names and values.
func (s *Stream) headers(end bool, fields ...string) bool {
	return s.WriteHeaders(h2.HeadersFrameParam{StreamID: s.ID, BlockFragment: block(fields...), EndStream: end, EndHeaders: true}) == nil
}

// block encodes names and values.
func block(fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // into memory
	}
	return b.Bytes()
}

// good is the header section of the robots.txt that is there.
func (s *Stream) goodHeaders() bool {
	return s.headers(false, ":status", "200", "content-type", "text/plain", "content-length", strconv.Itoa(len(Good)))
}

// FloodUnread is a server inside TLS that sends SETTINGS for as long as they
// are taken and never reads what comes. It returns nil when the client has
// closed the connection, or an error when that is still open after patience.
func FloodUnread(below net.Conn, patience time.Duration) error {
	defer func() { _ = below.Close() }()
	config := ServerConfig()
	config.NextProtos = []string{"h2"}
	c := tls.Server(below, config)
	if err := c.HandshakeContext(context.Background()); err != nil {
		return err
	}
	_ = below.SetWriteDeadline(time.Now().Add(patience))
	empty := []byte{0, 0, 0, byte(h2.FrameSettings), 0, 0, 0, 0, 0} // RFC 9113 §4.1: no length, no flags, stream 0
	many := bytes.Repeat(empty, 1800)
	for {
		if _, err := c.Write(many); errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		} else if err != nil {
			return nil
		}
	}
}
