package fieldline

import (
	"slices"
	"strings"
	"testing"
)

func TestScannerLooksAtEachOctetOnce(t *testing.T) {
	octets := []byte("GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 1<<16) + "\r\n\r\n")
	var s Scanner
	for i := range octets {
		before := s.seen
		if end := s.End(octets[:i]); end != 0 {
			t.Fatalf("ends at %d", end)
		}
		if s.seen != i || before > i {
			t.Fatalf("behind %d octets it has seen %d", i, s.seen)
		}
		if first := i > strings.IndexByte(string(octets), '\n'); s.Begun() != first {
			t.Fatalf("behind %d octets the first line is whole: %v", i, s.Begun())
		}
	}
	if end := s.End(octets); end != len(octets) {
		t.Errorf("ends at %d", end)
	}
}

func TestLinesAreThoseOfTheSection(t *testing.T) {
	for _, tt := range []struct {
		why, section string
		want         []string
	}{
		{"with CR LF", "GET / HTTP/1.1\r\nA: 1\r\nb: 2\r\n\r\nbody: no\r\n", []string{"A: 1", "b: 2"}},
		{"with LF", "HTTP/1.1 200 OK\nA: 1\nb: 2\n\nbody: no\n", []string{"A: 1", "b: 2"}},
		{"cut in a line", "GET / HTTP/1.1\r\nA: 1\r\nb: ", []string{"A: 1"}},
		{"a folded one is a line", "GET / HTTP/1.1\r\nA: 1\r\n 2\r\n\r\n", []string{"A: 1", " 2"}},
		{"one CR belongs to the end, and no more", "GET / HTTP/1.1\r\nA: 1\r\r\n\r\r\n\r\n", []string{"A: 1\r", "\r"}},
		{"none", "GET / HTTP/1.1\r\n\r\n", nil},
		{"nothing", "", nil},
	} {
		var got []string
		for line := range Lines([]byte(tt.section)) {
			got = append(got, string(line))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
}
