package serving

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func unchunk(body string, smaller bool) (string, http.Header, error) {
	r := io.Reader(strings.NewReader(body))
	if smaller {
		r = iotest.OneByteReader(r)
	}
	request := &http.Request{}
	got, err := io.ReadAll(&chunked{r: bufio.NewReader(r), request: request})
	return string(got), request.Trailer, err
}

func TestBodyInChunks(t *testing.T) {
	long := strings.Repeat("x", mostChunkLine)
	for _, c := range []struct {
		why, body, want string
		err             error
	}{
		{"two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", nil},
		{"a size in both cases", "aA\r\n" + strings.Repeat("x", 170) + "\r\n0\r\n\r\n", strings.Repeat("x", 170), nil},
		{"zeros before a size", "0005\r\nhello\r\n000\r\n\r\n", "hello", nil},
		{"an extension", "5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\n\r\n", "hello", nil},
		{"blanks before it", "5 \t;a\r\nhello\r\n0\r\n\r\n", "hello", nil},
		{"a blank at the end, as some senders have", "5 \r\nhello\r\n0 \r\n\r\n", "hello", nil},
		{"a trailer", "5\r\nhello\r\n0\r\nX-A: b\r\n\r\n", "hello", nil},
		{"an extension with NUL", "5;a=\x00b\r\nhello\r\n0\r\n\r\n", "", errChunkExtension},
		{"an extension with a control octet", "5;a=\x01\r\nhello\r\n0\r\n\r\n", "", errChunkExtension},
		{"an extension with DEL", "5;\x7f\r\nhello\r\n0\r\n\r\n", "", errChunkExtension},
		{"a CR in the line", "5;a\rb\r\nhello\r\n0\r\n\r\n", "", errChunkLine},
		{"LF alone", "5\nhello\r\n0\r\n\r\n", "", errChunkLine},
		{"a line that is too long", "5;" + long + "\r\nhello\r\n0\r\n\r\n", "", errChunkLine},
		{"no size", "\r\nhello\r\n0\r\n\r\n", "", errChunkSize},
		{"a prefix", "0x5\r\nhello\r\n0\r\n\r\n", "", errChunkSize},
		{"a sign", "+5\r\nhello\r\n0\r\n\r\n", "", errChunkSize},
		{"two sizes", "5 5\r\nhello\r\n0\r\n\r\n", "", errChunkSize},
		{"a blank before it", " 5\r\nhello\r\n0\r\n\r\n", "", errChunkSize},
		{"a size beyond all", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n", "", errChunkSize},
		{"a size that would be negative", "8000000000000000\r\nhello\r\n0\r\n\r\n", "", errChunkSize},
		{"a chunk that is longer", "5\r\nhelloX\r\n0\r\n\r\n", "hello", errChunkEnd},
		{"no last chunk", "5\r\nhello\r\n", "hello", io.ErrUnexpectedEOF},
		{"cut in a chunk", "5\r\nhel", "hel", io.ErrUnexpectedEOF},
		{"cut behind the last", "5\r\nhello\r\n0\r\n", "hello", io.ErrUnexpectedEOF},
		{"a trailer section without an end", "0\r\nX: " + strings.Repeat(long, 3), "", errTrailerLong},
	} {
		for _, smaller := range []bool{false, true} {
			got, _, err := unchunk(c.body, smaller)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: %.40q, %v; want %.40q, %v", c.why, got, err, c.want, c.err)
			}
		}
	}
}

func TestTrailersAreTheRequests(t *testing.T) {
	_, trailer, err := unchunk("0\r\nX-A: b\r\nx-a: c\r\n\r\n", false)
	if err != nil || strings.Join(trailer["X-A"], "|") != "b|c" {
		t.Errorf("%v, %v", trailer, err)
	}
}

func TestManyExtensionsAreTooMuch(t *testing.T) {
	ext := strings.Repeat("x", 1000)
	_, _, err := unchunk(strings.Repeat("1;"+ext+"\r\nx\r\n", 100)+"0\r\n\r\n", false)
	if !errors.Is(err, errChunkOverhead) {
		t.Error(err)
	}
	if got, _, err := unchunk(strings.Repeat("1\r\nx\r\n", 100_000)+"0\r\n\r\n", false); len(got) != 100_000 || err != nil {
		t.Errorf("an octet a chunk: %d, %v", len(got), err)
	}
}

// What has come is returned before anything is waited for.
func TestAChunkIsPassedOnWhenItIsThere(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go func() { _, _ = io.WriteString(w, "5\r\nhello\r\n") }()
	c := &chunked{r: bufio.NewReader(r), request: &http.Request{}}
	buf := make([]byte, 100)
	if n, err := c.Read(buf); string(buf[:n]) != "hello" || err != nil {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// FuzzChunked compares with net/http's reader: what is read here is read there,
// to the same octets.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{"5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n", "0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n", "fffffffffffffff\r\n", "1\r\nx\r\n1\r\ny\r\n0\r\nA: b\r\nC: d\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		head := "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n"
		theirs := bufio.NewReader(io.MultiReader(strings.NewReader(head), bytes.NewReader(body)))
		request, err := http.ReadRequest(theirs)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := io.ReadAll(request.Body)
		ours := bufio.NewReader(bytes.NewReader(body))
		mine := &http.Request{}
		got, gotErr := io.ReadAll(&chunked{r: ours, request: mine})
		if gotErr != nil {
			return // stricter it may be
		}
		if wantErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q, and net/http %q, %v", got, want, wantErr)
		}
		behind, _ := io.ReadAll(ours)
		if left, _ := io.ReadAll(theirs); !bytes.Equal(behind, left) {
			t.Fatalf("leaves %q, and net/http %q", behind, left)
		}
		for name, values := range mine.Trailer {
			if strings.Join(values, "\n") != strings.Join(request.Trailer[name], "\n") {
				t.Fatalf("trailers %v, and net/http %v", mine.Trailer, request.Trailer)
			}
		}
	})
}
