package load

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAnswersAreChecked(t *testing.T) {
	page := &expectation{"200", []byte("twelve bytes")}
	denial := &expectation{status: "403"}
	for _, c := range []struct {
		why, octets string
		want        *expectation
		fault       string // "": none
		closes      bool
	}{
		{"as it is to be", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\ntwelve bytes", page, "", false},
		{"names in any case, space around values", "HTTP/1.1 200 OK\r\ncONTENT-lENGTH:  12 \r\nconnection:close\r\n\r\ntwelve bytes", page, "", true},
		{"the end is that of the connection", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ntwelve bytes", page, "", true},
		{"HTTP/1.0 closes", "HTTP/1.0 200 OK\r\nContent-Length: 12\r\n\r\ntwelve bytes", page, "", true},
		{"HTTP/1.0 that keeps", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 12\r\n\r\ntwelve bytes", page, "", false},
		{"a field that only begins so", "HTTP/1.1 200 OK\r\nContent-Length-Hint: 3\r\nContent-Length: 12\r\n\r\ntwelve bytes", page, "", false},
		{"a denial of any length", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", denial, "", false},

		{"another status", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 12\r\n\r\ntwelve bytes", page, "answered by 502", false},
		{"a page where a denial is right", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\ntwelve bytes", denial, "answered by 200", false},
		{"another length", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\ntwelve byte", page, "11 octets where 12", false},
		{"another body", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\ntwelve bites", page, "another body", false},
		{"more than the body", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\ntwelve bytes!", page, "1 octets after the answer", false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\ntwelve bytes\r\n0\r\n\r\n", page, "in chunks", false},
		{"no length and no end", "HTTP/1.1 200 OK\r\n\r\ntwelve bytes", page, "whose end nobody tells", false},
		{"a denial without a length", "HTTP/1.1 403 Forbidden\r\n\r\nno", denial, "without Content-Length", false},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", page, "no length", false},
		{"cut off in the body", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\ntwelve", page, "6 octets before its end", false},
		{"cut off in the header", "HTTP/1.1 200 OK\r\nContent-", page, "reading the header", false},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2 and so on\r\n\r\n", page, "no HTTP/1 answer", false},
		{"a header without end", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 200), page, "has no end", false},
	} {
		t.Run(c.why, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once":     strings.NewReader(c.octets),
				"by octet":    iotest.OneByteReader(strings.NewReader(c.octets)),
				"by half":     iotest.HalfReader(strings.NewReader(c.octets)),
				"end at once": iotest.DataErrReader(strings.NewReader(c.octets)),
			} {
				octets := 0
				a := answers{from: r, buf: make([]byte, 1000), read: func(n int) { octets += n }}
				closes, err := a.next(c.want)
				switch {
				case c.fault == "" && (err != nil || closes != c.closes):
					t.Errorf("%s: got %v, %v", name, closes, err)
				case c.fault == "" && c.want == page && octets != 12:
					t.Errorf("%s: %d octets of the body were counted", name, octets)
				case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
					// Of the body that is looked at which came with the header.
					if !strings.HasPrefix(name, "by") || !strings.Contains(c.fault, "after the answer") && !strings.Contains(c.fault, "another body") {
						t.Errorf("%s: got %v, want %q", name, err, c.fault)
					}
				}
			}
		})
	}
}

func TestAConnectionThatClosesInPlaceOfAnAnswerIsTold(t *testing.T) {
	a := answers{from: strings.NewReader(""), buf: make([]byte, 100)}
	if _, err := a.next(&expectation{"200", nil}); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
}

// What the origin gives is what clients take for right.
func TestPagesAreWhatTheyAreExpectedToBe(t *testing.T) {
	all := pages()
	for _, size := range []int{Small, Mid, Large} {
		whole := all[target(size, variants-1)]
		a := answers{from: bytes.NewReader(whole), buf: make([]byte, 1000), read: func(int) {}}
		if closes, err := a.next(&expectation{"200", pageBody(size)}); err != nil || closes {
			t.Errorf("%d octets: %v, %v", size, closes, err)
		}
	}
	if lines := strings.Count(Robots, "\n"); lines < 38 || lines > 42 {
		t.Errorf("robots.txt has %d lines, and is to have some 40", lines)
	}
}
