package serving

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// script is a connection on which octets come in pieces, and then end.
type script struct {
	net.Conn
	r     io.Reader
	piece int // at most, of a read; 0: as much as there is room for
	reads int
}

func (s *script) Read(p []byte) (int, error) {
	s.reads++
	if s.piece > 0 && len(p) > s.piece {
		p = p[:s.piece]
	}
	return s.r.Read(p)
}

func (s *script) SetReadDeadline(time.Time) error { return nil }

func newScript(octets []byte, piece, limit int) *conn {
	s := &script{r: bytes.NewReader(octets), piece: piece}
	c := &conn{Conn: s, server: New(Config{HeaderLimit: limit}), reader: readers.Get().(*bufio.Reader)}
	c.reader.Reset(s)
	return c
}

// FuzzSection: http.ReadRequest ends the header section where section does. If it
// did not, a part of one would be a body or a request.
func FuzzSection(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\n\r\n", "\r\n\r\n", "\n", "\r",
		"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n \r\n\r\nGET", "GET / HTTP/1.1\r\nHost: a\n\r\nx\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\t\n\n", "GET / HTTP/1.1\r\nHost: a\r\n\v\n\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", "GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n \n \r\n\n\r\n", "GET /\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\nTransfer-Encoding: chunked\r\n\n0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 5000) + "\r\n\r\n", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 4096-21) + "\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, octets []byte, piece uint8) {
		c := newScript(octets, int(piece), 16<<10)
		section, err := c.section()
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) && !errors.Is(err, errLeft) {
				t.Fatalf("section failed with %v", err)
			}
			return
		}
		if !bytes.HasPrefix(octets, section) {
			t.Fatalf("%q is not the beginning", section)
		}
		section = bytes.Clone(section)
		rest := bytes.NewReader(octets)
		r := bufio.NewReaderSize(rest, len(octets)+16)
		_, parsed := http.ReadRequest(r)
		consumed := len(octets) - rest.Len() - r.Buffered()
		if parsed == nil && consumed != len(section) {
			t.Fatalf("http.ReadRequest took %d octets, section %d: %q", consumed, len(section), octets)
		}
		request, err := c.readRequest()
		if parsed != nil && err == nil {
			t.Fatalf("read what http.ReadRequest does not: %q", octets)
		}
		if err == nil {
			checkBody(t, request, octets[len(section):])
		}
	})
}

// checkBody compares what a request's body is with what one is that http reads
// by itself.
func checkBody(t *testing.T, r *request, rest []byte) {
	t.Helper()
	whole := append(bytes.Clone(r.section), rest...)
	want, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(whole)))
	if err != nil {
		t.Fatal(err)
	}
	wanted, wantErr := io.ReadAll(want.Body)
	got, gotErr := io.ReadAll(r.body.ReadCloser)
	if !bytes.Equal(wanted, got) || (wantErr == nil) != (gotErr == nil) {
		t.Fatalf("body %q, %v; want %q, %v", got, gotErr, wanted, wantErr)
	}
}

// TestSectionLimit: exactly what is allowed is taken, in whatever pieces it comes.
func TestSectionLimit(t *testing.T) {
	for _, limit := range []int{100, readSize - 1, readSize, readSize + 1, 2*readSize - 1, 2 * readSize, 2*readSize + 1, 64 << 10} {
		for _, piece := range []int{0, 1, 7, readSize} {
			for _, test := range []struct{ over, status int }{{-1, 0}, {0, 0}, {1, 431}, {100, 431}, {3 * readSize, 431}} {
				head := "GET / HTTP/1.1\r\nHost: a\r\nX: "
				octets := head + strings.Repeat("x", limit+test.over-len(head)-4) + "\r\n\r\n"
				c := newScript([]byte(octets+"more"), piece, limit)
				r, err := c.readRequest()
				what := fmt.Sprintf("%d octets of %d in pieces of %d", len(octets), limit, piece)
				var f *Fault
				switch {
				case test.status == 0 && err != nil:
					t.Errorf("%s: %v", what, err)
				case test.status == 0:
					if string(r.section) != octets {
						t.Errorf("%s: a section of %d", what, len(r.section))
					}
					if rest, _ := io.ReadAll(c.reader); string(rest) != "more" {
						t.Errorf("%s: %q follows", what, rest)
					}
				case !errors.As(err, &f) || f.Status != test.status:
					t.Errorf("%s: %v", what, err)
				case len(f.Section) != limit || f.Line != len("GET / HTTP/1.1\r"):
					t.Errorf("%s: a fault with %d octets, the first line of %d", what, len(f.Section), f.Line)
				}
			}
		}
	}
}

// TestSectionTakesAsMuchMemoryAsCame: no more than a few times that, and no octet
// is looked at over and over.
func TestSectionTakesAsMuchMemoryAsCame(t *testing.T) {
	c := newScript([]byte("GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 5000)), 1, 1<<20)
	if octets, err := c.section(); err != nil || len(octets) < 5000 {
		t.Fatalf("%d octets, %v; a cut section is for the parser to refuse", len(octets), err)
	}
	if size := c.reader.Size(); size > 16<<10 {
		t.Errorf("a buffer of %d for 5,000 octets", size)
	}
}

// TestNoHTTPIsRefusedAtItsFirstLine: nothing else may ever come.
func TestNoHTTPIsRefusedAtItsFirstLine(t *testing.T) {
	for _, first := range []string{"GET /\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01\n", "GET / http/1.1\r\n"} {
		ours, theirs := net.Pipe()
		c := &conn{Conn: ours, server: New(Config{}), reader: bufio.NewReaderSize(ours, readSize)}
		go func() { _, _ = io.WriteString(theirs, first) }()
		_, err := c.readRequest()
		var f *Fault
		if !errors.As(err, &f) || f.Status != http.StatusBadRequest || string(f.Section) != first {
			t.Errorf("%q: %v", first, err)
		}
		_ = ours.Close()
	}
}

// TestCheck: what http.ReadRequest takes, and a server may not.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		why, section string
		status       int
	}{
		{"a request", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		{"1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 0},
		{"no Host", "GET / HTTP/1.1\r\nX: y\r\n\r\n", 400},
		{"an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 0},
		{"no Host in CONNECT", "CONNECT a:1 HTTP/1.1\r\n\r\n", 0},
		{"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400},
		{"a Host that is none", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
		{"a folded Host", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
		{"a Host folded with a tab", "GET / HTTP/1.1\r\nhost: a\r\n\tb\r\n\r\n", 400},
		{"a folded line behind Host and another", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n b\r\n\r\n", 400},
		{"a folded line that looks like Host", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n Host: b\r\n\r\n", 400},
		{"a folded line that looks like a length", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX: y\r\n Content-Length: 5\r\n\r\n", 400},
		{"a folded first line", "GET / HTTP/1.1\r\n Host: b\r\n\r\n", 400},
		{"a bare CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n", 400},
		{"a bare CR at the end of a value", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\r\n\r\n", 400},
		{"a line of a bare CR", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n", 400},
		{"a bare CR in the request line", "GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", 400},
		{"DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", 400},
		{"eight bits in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \xe4\r\n\r\n", 0},
		{"eight bits in a name", "GET / HTTP/1.1\r\nHost: a\r\nX\xe4: y\r\n\r\n", 400},
		{"a blank in a name", "GET / HTTP/1.1\r\nHost: a\r\nX Y: y\r\n\r\n", 400},
		{"a name with a blank behind", "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400},
		{"no name", "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", 400},
		{"HTTP/2 without Host", "PRI * HTTP/2.0\r\n\r\n", 505},
		{"HTTP/0.9 with a version", "GET / HTTP/0.9\r\n\r\n", 505},
		{"a version of two digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400},
		{"no version", "GET /\r\n\r\n", 400},
		{"two blanks", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"nothing", "\r\n", 400},
	} {
		_, err := newScript([]byte(test.section+"more"), 0, 0).readRequest()
		var f *Fault
		switch {
		case test.status == 0 && err != nil:
			t.Errorf("%s: %v", test.why, err)
		case test.status != 0 && (!errors.As(err, &f) || f.Status != test.status):
			t.Errorf("%s: %v, want %d", test.why, err, test.status)
		}
	}
}

// TestOctetsOfAValue: http.ReadRequest takes no control octet but a tab.
func TestOctetsOfAValue(t *testing.T) {
	for c := range 256 {
		if c == '\n' { // a line of its own
			continue
		}
		_, err := newScript([]byte("GET / HTTP/1.1\r\nHost: a\r\nX: y"+string([]byte{byte(c)})+"z\r\n\r\n"), 0, 0).readRequest()
		if control := c < ' ' && c != '\t' || c == 0x7f; control != (err != nil) {
			t.Errorf("%#02x: %v", c, err)
		}
	}
}

// TestSectionsAreUsedAgain: those that fit are, and no other memory takes their
// place.
func TestSectionsAreUsedAgain(t *testing.T) {
	for _, n := range []int{100, sectionSize - 1, sectionSize, sectionSize + 1, 4 * sectionSize} {
		head := "GET / HTTP/1.1\r\nHost: a\r\nX: "
		octets := head + strings.Repeat("x", n-len(head)-4) + "\r\n\r\n"
		r, err := newScript([]byte(octets), 0, 0).readRequest()
		if err != nil {
			t.Fatal(err)
		}
		if string(r.section) != octets || (n <= sectionSize) != (cap(r.section) == sectionSize) {
			t.Errorf("a section of %d has %d, with room for %d", n, len(r.section), cap(r.section))
		}
		r.release()
		if r.section != nil {
			t.Error("it can still be had")
		}
	}
}
