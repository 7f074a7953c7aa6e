package fetch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"heed/policy"
)

func zipped(t testing.TB, body string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCodings(t *testing.T) {
	file := zipped(t, closedFile)
	for _, r := range []struct {
		why    string
		body   string
		coding []string
		access policy.Access
		err    string
	}{
		{"none", closedFile, nil, policy.Successful, ""},
		{"identity", closedFile, []string{"Identity"}, policy.Successful, ""},
		{"gzip", file, []string{"gzip"}, policy.Successful, ""},
		{"its old name, in capitals", file, []string{"X-GZIP"}, policy.Successful, ""},
		{"two members", zipped(t, "User-agent: *\n") + zipped(t, "Disallow: /private/\n"), []string{"gzip"}, policy.Successful, ""},
		{"brotli, unasked", closedFile, []string{"br"}, policy.Unreachable, `body in the coding "br", which was not asked for`},
		{"twice", file, []string{"gzip, gzip"}, policy.Unreachable, `body in the coding "gzip, gzip", which was not asked for`},
		{"in two fields", file, []string{"gzip", "br"}, policy.Unreachable, `body in the coding "gzip, br", which was not asked for`},
		{"not gzip at all", closedFile, []string{"gzip"}, policy.Unreachable, "gzip body broken after 0 decoded octets: gzip: invalid header"},
		{"gzip cut short", file[:len(file)-9], []string{"gzip"}, policy.Unreachable, "gzip body broken after 34 decoded octets: unexpected EOF"},
		{"gzip cut in its header", file[:5], []string{"gzip"}, policy.Unreachable, "gzip body broken after 0 decoded octets: unexpected EOF"},
		{"a wrong checksum", file[:len(file)-8] + "\x00\x00\x00\x00" + file[len(file)-4:], []string{"gzip"}, policy.Unreachable, "gzip body broken after 34 decoded octets: gzip: invalid checksum"},
		{"rubbish after the end", file + "rubbish....", []string{"gzip"}, policy.Unreachable, "gzip body broken after 34 decoded octets: gzip: invalid header"},
	} {
		var fields []string
		for _, c := range r.coding {
			fields = append(fields, "Content-Encoding: "+c)
		}
		s := snapshot(t, newFetcher(t, Config{Transport: answers(200, r.body, fields...)}), at(t, "a.example"))
		if s.Access != r.access || s.Err != r.err {
			t.Errorf("%s: access %v, err %q; want %v, %q", r.why, s.Access, s.Err, r.access, r.err)
		}
		if allowed(s, "/private/x") {
			t.Errorf("%s: /private/x is allowed", r.why)
		}
		if r.access == policy.Successful && (s.Size != len(closedFile) || !allowed(s, "/public")) {
			t.Errorf("%s: size %d", r.why, s.Size)
		}
	}
}

func TestAnEmptyBodyLabelledGzipHasNoRules(t *testing.T) {
	s := snapshot(t, newFetcher(t, Config{Transport: answers(200, "", "Content-Encoding: gzip")}), at(t, "a.example"))
	if s.Access != policy.Successful || !allowed(s, "/private/x") {
		t.Errorf("%+v", s)
	}
}

// repeat is a body without an end. It counts what is read of it.
type repeat struct {
	text string
	read *atomic.Int64
	off  int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.text[r.off:])
		n += c
		r.off = (r.off + c) % len(r.text)
	}
	r.read.Add(int64(n))
	return n, nil
}

// emptyBlock is a stored block of deflate without an octet in it (RFC 1951
// §3.2.4), and not the last one.
const emptyBlock = "\x00\x00\x00\xff\xff"

func TestABombIsReadToTheLimitAndNoFurther(t *testing.T) {
	var bomb strings.Builder
	w := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(w, closedFile+strings.Repeat("#", 2<<20))
	_ = w.Close()
	var endless strings.Builder
	w = gzip.NewWriter(&endless)
	for range 10 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	for _, r := range []struct {
		why, text, coding string
		limit, most       int
		access            policy.Access
	}{
		{"an endless body", closedFile, "identity", 0, 500<<10 + 1, policy.Successful},
		{"an endless body, a larger limit", closedFile, "identity", 1 << 20, 1<<20 + 1, policy.Successful},
		{"2 MiB in 4 KiB, and on", bomb.String(), "gzip", 0, 16 << 10, policy.Unreachable},
		{"10 MiB in 10 KiB, and on", endless.String(), "gzip", 0, 16 << 10, policy.Unreachable},
		{"blocks that decode to nothing, for ever", emptyBlock, "gzip", 0, 2 * 500 << 10, policy.Unreachable},
	} {
		var read atomic.Int64
		transport := script(func(*http.Request) (*http.Response, error) {
			resp := response(200, "", "Content-Encoding: "+r.coding)
			resp.ContentLength = -1
			resp.Body = io.NopCloser(&repeat{text: r.text, read: &read})
			if r.text == emptyBlock {
				resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(zipped(t, "")[:10]), resp.Body))
			}
			return resp, nil
		})
		s := snapshot(t, newFetcher(t, Config{Transport: transport, Limit: r.limit}), at(t, "a.example"))
		if s.Access != r.access || read.Load() > int64(r.most) || allowed(s, "/private/x") {
			t.Errorf("%s: access %v (%s), %d octets read, at most %d expected", r.why, s.Access, s.Err, read.Load(), r.most)
		}
		if r.access == policy.Successful && (!s.Truncated || s.Size != max(r.limit, policy.DefaultLimit)+1) {
			t.Errorf("%s: truncated %v, size %d", r.why, s.Truncated, s.Size)
		}
	}
}

// Padding is out of all proportion, but comes to an end.
func TestALongFileIsNoBomb(t *testing.T) {
	for _, size := range []int{policy.DefaultLimit + 1, 2 << 20, 8 << 20} {
		body := zipped(t, closedFile+strings.Repeat("#", size))
		s := snapshot(t, newFetcher(t, Config{Transport: answers(200, body, "Content-Encoding: gzip")}), at(t, "a.example"))
		if s.Access != policy.Successful || !s.Truncated || allowed(s, "/private/x") || !allowed(s, "/public") {
			t.Errorf("%d octets in %d: %+v", size, len(body), s)
		}
	}
}

// A file of exactly the limit is whole, one octet more is cut, and rules count
// up to the limit.
func TestTheLimitCountsToTheOctet(t *testing.T) {
	const rule = "\nDisallow: /late/"
	for _, r := range []struct {
		size      int
		truncated bool
		late      bool // the rule at the end counts
	}{
		{policy.DefaultLimit - 1, false, true},
		{policy.DefaultLimit, false, true},
		{policy.DefaultLimit + 1, true, false},
	} {
		for _, coding := range []string{"identity", "gzip"} {
			head := "User-agent: *\nDisallow: /early/\n"
			body := head + strings.Repeat("#", r.size-len(head)-len(rule)) + rule
			if coding == "gzip" {
				body = zipped(t, body)
			}
			s := snapshot(t, newFetcher(t, Config{Transport: answers(200, body, "Content-Encoding: "+coding)}), at(t, "a.example"))
			name := fmt.Sprintf("%d octets, %s", r.size, coding)
			if s.Access != policy.Successful || s.Truncated != r.truncated || s.Size != r.size {
				t.Errorf("%s: access %v, truncated %v, size %d", name, s.Access, s.Truncated, s.Size)
			}
			if allowed(s, "/early/x") || allowed(s, "/late/x") == r.late {
				t.Errorf("%s: /early/ %v, /late/ %v", name, allowed(s, "/early/x"), allowed(s, "/late/x"))
			}
		}
	}
}
