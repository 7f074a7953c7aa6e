package fieldline_test

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heed/internal/fieldline"
)

func TestAppendHasTheOrderAndSpellingOfTheSection(t *testing.T) {
	many := make([]fieldline.Line, 129)
	for i := range many {
		many[i] = fieldline.Line{Name: "N" + strconv.Itoa(1000-i), Value: "x"}
	}
	for _, test := range []struct {
		why     string
		lines   []fieldline.Line
		section string
		want    string
	}{
		{"no section: sorted, Host first", lines("Zeta=1", "Alpha=2", "Host=h"), "", "Host: h\r\nAlpha: 2\r\nZeta: 1\r\n"},
		{"order and case are the section's", lines("Accept=a", "User-Agent=u"), "GET / HTTP/1.1\r\nuser-AGENT: old\r\naccept: old\r\n\r\n", "user-AGENT: u\r\naccept: a\r\n"},
		{"what it does not name is sorted behind", lines("Via=v", "B=b", "A=a"), "x\r\nb: \r\n\r\n", "b: b\r\nA: a\r\nVia: v\r\n"},
		{"a Host that it does not name is before the rest", lines("A=a", "Host=h", "B=b"), "x\r\nb: \r\n\r\n", "b: b\r\nHost: h\r\nA: a\r\n"},
		{"lines of one name keep their order, and their places", lines("A=1", "A=2", "B=b"), "x\r\na: \r\nB: \r\nA: \r\n\r\n", "a: 1\r\nB: b\r\nA: 2\r\n"},
		{"more lines of a name than it has", lines("A=1", "A=2", "A=3"), "x\r\na: \r\n\r\n", "a: 1\r\nA: 2\r\nA: 3\r\n"},
		{"fewer lines of a name than it has", lines("A=1"), "x\r\na: \r\nA: \r\n\r\n", "a: 1\r\n"},
		{"line ends of LF alone", lines("B=b", "A=a"), "x\nb: \na: \n\n", "b: b\r\na: a\r\n"},
		{"nothing behind the empty line counts", lines("B=b", "A=a"), "x\r\n\r\nb: \r\na: \r\n\r\n", "A: a\r\nB: b\r\n"},
		{"a line that was cut does not count", lines("B=b", "A=a"), "x\r\nb: ", "A: a\r\nB: b\r\n"},
		{"the first line is no field", lines("B=b", "A=a"), "b: \r\n\r\n", "A: a\r\nB: b\r\n"},
		{"a folded line is no field", lines("B=b", "A=a"), "x\r\nc: 1\r\n b: 2\r\n\r\n", "A: a\r\nB: b\r\n"},
		{"a line without a colon, or without a name, is none", lines("B=b"), "x\r\nrubbish\r\n: y\r\nb: \r\n\r\n", "b: b\r\n"},
		{"octets of eight bits stay", lines("A=\xe4"), "x\r\na: \r\n\r\n", "a: \xe4\r\n"},
		{"a letter that only Unicode folds is another name", lines("K=k"), "x\r\n\u212a: \r\n\r\n", "K: k\r\n"},
		{"too many to look for: sorted", many, "x\r\nn1000: \r\n\r\n", sorted(many)},
		{"nothing", nil, "x\r\na: \r\n\r\n", ""},
	} {
		if got := fieldline.Append([]byte("before|"), slices.Clone(test.lines), []byte(test.section)); string(got) != "before|"+test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.why, got, "before|"+test.want)
		}
	}
}

func lines(all ...string) []fieldline.Line {
	var l []fieldline.Line
	for _, s := range all {
		name, value, _ := strings.Cut(s, "=")
		l = append(l, fieldline.Line{Name: name, Value: value})
	}
	return l
}

// sorted is what is written of lines without a section, none of them a Host.
func sorted(lines []fieldline.Line) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Name+": "+l.Value+"\r\n")
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// FuzzAppend: every line is written once, whatever the section; lines of a name
// in their order, and under a name that is the same but for case; and before
// those that the section does not name come the ones that it does, in its order.
func FuzzAppend(f *testing.F) {
	f.Add("A=1\nB=2\nA=3", "x\r\nb: \r\na: \r\n\r\n")
	f.Add("Host=h\nVia=v", "x\nvia:\n\n")
	f.Add("A=1", "")
	f.Add("Aa=1\nAA=2\naa=3", "x\r\nAA:\r\naA:\r\n")
	f.Add("K=1", "x\n\xe2\x84\xaa: \n")
	f.Fuzz(func(t *testing.T, text, section string) {
		var in []fieldline.Line
		for s := range strings.SplitSeq(text, "\n") {
			name, value, _ := strings.Cut(s, "=")
			if validName(name) && !strings.ContainsAny(value, "\r\n") {
				in = append(in, fieldline.Line{Name: name, Value: value})
			}
		}
		out := fieldline.Append(nil, slices.Clone(in), []byte(section))
		got := split(t, out)
		if len(got) != len(in) {
			t.Fatalf("%d lines became %d: %q", len(in), len(got), out)
		}
		for _, l := range in {
			if want, have := valuesOf(in, l.Name), valuesOf(got, l.Name); !sameLines(want, have) {
				t.Fatalf("%s: %q became %q", l.Name, want, have)
			}
		}
		if len(in) <= 128 {
			checkOrder(t, in, got, section)
		}
	})
}

func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
	})
}

func split(t *testing.T, out []byte) []fieldline.Line {
	t.Helper()
	var got []fieldline.Line
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte("\r\n")), []byte("\r\n")) {
		if len(out) == 0 {
			break
		}
		name, value, ok := strings.Cut(string(line), ": ")
		if !ok {
			t.Fatalf("no field line: %q", line)
		}
		got = append(got, fieldline.Line{Name: name, Value: value})
	}
	return got
}

func valuesOf(lines []fieldline.Line, name string) (values []string) {
	for _, l := range lines {
		if http.CanonicalHeaderKey(l.Name) == http.CanonicalHeaderKey(name) {
			values = append(values, l.Value)
		}
	}
	return values
}

// sameLines compares the values of a name. Those that were spelled differently
// to begin with may change places.
func sameLines(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// checkOrder compares what was written with the plainest way to put it in order.
func checkOrder(t *testing.T, in, got []fieldline.Line, section string) {
	t.Helper()
	rest := slices.Clone(in)
	var want []string
	for name := range fieldline.Names([]byte(section)) {
		i := slices.IndexFunc(rest, func(l fieldline.Line) bool { return asciiFold(l.Name) == asciiFold(string(name)) })
		if i >= 0 {
			want = append(want, string(name))
			rest = slices.Delete(rest, i, i+1)
		}
	}
	for i, name := range want {
		if got[i].Name != name {
			t.Fatalf("line %d is %q, want %q", i, got[i].Name, name)
		}
	}
	for i := len(want) + 1; i < len(got); i++ {
		if a, b := got[i-1].Name, got[i].Name; b != "Host" && a != "Host" && a > b || b == "Host" && a != "Host" {
			t.Fatalf("%q is before %q", a, b)
		}
	}
}

func asciiFold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// BenchmarkAppend writes the lines of a browser's request.
func BenchmarkAppend(b *testing.B) {
	names := []string{"Host", "User-Agent", "Accept", "Accept-Language", "Accept-Encoding", "Referer", "Cookie", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site"}
	section := "GET / HTTP/1.1\r\n" + strings.ToLower(strings.Join(names, ": x\r\n")) + ": x\r\n\r\n"
	in := make([]fieldline.Line, len(names)+1)
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		for i, n := range names {
			in[i] = fieldline.Line{Name: n, Value: "value"}
		}
		in[len(names)] = fieldline.Line{Name: "Via", Value: "1.1 heed"}
		_ = fieldline.Append(buf, in, []byte(section))
	}
}
