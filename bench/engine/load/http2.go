package load

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// session is one HTTP/2 connection of a client, with as many requests under way
// as the plan has streams.
type session struct {
	*client
	framer *http2.Framer
	in     *bufio.Reader
	out    bytes.Buffer      // frames, which go out together when there is nothing left to read
	blocks [][]byte          // the requests' header sections
	open   map[uint32]stream // by id
	next   uint32            // id
	taken  uint32            // octets of DATA since the last WINDOW_UPDATE
	asked  int
}

// stream is an answer on its way.
type stream struct {
	asked  time.Time
	left   int  // octets of the body
	header bool // it has come
}

// What the client lets the proxy send before it says more: flow control is not
// what is measured.
const (
	streamWindow     = 16 << 20
	connectionWindow = 1 << 30
)

// workHTTP2 is work over HTTP/2.
func (c *client) workHTTP2() error {
	defer func() { c.working-- }()
	if err := c.open(); err != nil {
		return err
	}
	t := c.to.(*tls.Conn)
	if got := t.ConnectionState().NegotiatedProtocol; got != "h2" {
		return fmt.Errorf("a client: the proxy does not speak HTTP/2: it chose %q", got)
	}
	s := &session{client: c, in: bufio.NewReaderSize(t, 64<<10), open: map[uint32]stream{}, next: 1}
	s.framer = http2.NewFramer(&s.out, s.in)
	s.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	s.blocks = c.headerBlocks()
	if err := s.begin(); err != nil {
		return fmt.Errorf("a client: %w", err)
	}
	for !c.ending || len(s.open) > 0 {
		if err := s.step(); err != nil {
			return fmt.Errorf("a client: %w", err)
		}
	}
	return nil
}

// begin sends the preface, and the first request of each stream.
func (s *session) begin() error {
	s.out.WriteString(http2.ClientPreface)
	if err := s.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow}, http2.Setting{ID: http2.SettingEnablePush, Val: 0}); err != nil {
		return err
	}
	if err := s.framer.WriteWindowUpdate(0, connectionWindow); err != nil {
		return err
	}
	for range s.plan.Streams {
		if err := s.request(); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) request() error {
	s.open[s.next] = stream{asked: time.Now(), left: len(s.want.body)}
	err := s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s.next, BlockFragment: s.blocks[s.asked%variants], EndStream: true, EndHeaders: true})
	s.next += 2
	s.asked++
	return err
}

// step reads a frame, after having sent what waits if there is none.
func (s *session) step() error {
	if s.in.Buffered() == 0 && s.out.Len() > 0 {
		if _, err := s.to.Write(s.out.Bytes()); err != nil {
			return err
		}
		s.out.Reset()
	}
	frame, err := s.framer.ReadFrame()
	if err != nil {
		return fmt.Errorf("reading a frame: %w", err)
	}
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		return s.header(f)
	case *http2.DataFrame:
		return s.data(f)
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return s.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return s.framer.WritePing(true, f.Data)
		}
	case *http2.RSTStreamFrame, *http2.GoAwayFrame:
		return fmt.Errorf("in place of an answer came %v", f)
	}
	return nil
}

// header checks the header section of an answer.
func (s *session) header(f *http2.MetaHeadersFrame) error {
	at, known := s.open[f.StreamID]
	if !known || f.StreamEnded() && at.left > 0 {
		return fmt.Errorf("an answer on stream %d that nobody waits for, or without a body: %v", f.StreamID, f.Fields)
	}
	if got := f.PseudoValue("status"); got != s.want.status {
		return fmt.Errorf("answered by %s, not %s: %v", got, s.want.status, f.Fields)
	}
	for _, field := range f.RegularFields() {
		if field.Name == "content-length" && field.Value != strconv.Itoa(len(s.want.body)) {
			return fmt.Errorf("an answer of %s octets where %d are right", field.Value, len(s.want.body))
		}
	}
	at.header = true
	s.open[f.StreamID] = at
	return nil
}

// data counts octets of a body, and asks for the next page when it has ended.
func (s *session) data(f *http2.DataFrame) error {
	at, known := s.open[f.StreamID]
	body := f.Data()
	done := len(s.want.body) - at.left
	switch {
	case !known || !at.header:
		return fmt.Errorf("a body without a header, on stream %d", f.StreamID)
	case len(body) > at.left || !bytes.Equal(body, s.want.body[done:done+len(body)]):
		return fmt.Errorf("an answer with another body: %.80q", body)
	case f.StreamEnded() && len(body) < at.left:
		return fmt.Errorf("an answer that ends %d octets before its end", at.left-len(body))
	}
	at.left -= len(body)
	s.open[f.StreamID] = at
	s.octetsRead(len(body))
	if s.taken += f.Length; s.taken > connectionWindow/2 {
		if err := s.framer.WriteWindowUpdate(0, s.taken); err != nil {
			return err
		}
		s.taken = 0
	}
	if !f.StreamEnded() {
		return nil
	}
	delete(s.open, f.StreamID)
	s.answered(at.asked)
	if s.ending {
		return nil
	}
	return s.request()
}

// headerBlocks are the requests as HPACK has them, without any of its dynamic
// table: so they can be sent again and again.
func (c *client) headerBlocks() (all [][]byte) {
	for v := range variants {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		e.SetMaxDynamicTableSize(0)
		b.Reset()
		for _, f := range [][2]string{
			{":method", "GET"},
			{":scheme", "https"},
			{":authority", c.origin.String()},
			{":path", target(c.plan.Size, v)},
			{"user-agent", userAgent},
			{"accept", "text/html,application/xhtml+xml,*/*;q=0.8"},
			{"accept-language", "en"},
			{"accept-encoding", "gzip, deflate"},
		} {
			_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a buffer takes all
		}
		all = append(all, b.Bytes())
	}
	return all
}
