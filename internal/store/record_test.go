package store

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"heed/fetch"
	"heed/internal/origin"
	"heed/internal/store/storetest"
	"heed/policy"
)

func TestKeysAreReversibleAndSortByHost(t *testing.T) {
	hosts := []string{"", "\x00", "\x00\x01", "\x00\xff", "\x01", "a", "a\x00", "a\x00b", "a.example", "aa", "b", "\xff"}
	var keys [][]byte
	for _, h := range hosts {
		o := origin.Origin{Scheme: "http", Host: h, Port: "80"}
		key := keyOf(o)
		if back, err := originOf(key); err != nil || back != o {
			t.Errorf("%q comes back as %q, %v", o, back, err)
		}
		if !bytes.HasPrefix(key, hostPrefix(h)) {
			t.Errorf("the key of %q does not begin with its host", o)
		}
		keys = append(keys, key)
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Errorf("keys do not sort as hosts do: %q", keys)
	}
}

func FuzzKey(f *testing.F) {
	f.Add("https", "a.example", "443", "http", "b.example", "80")
	f.Add("", "\x00\x01", "", "\x00\x01", "", "")
	f.Fuzz(func(t *testing.T, s1, h1, p1, s2, h2, p2 string) {
		a, b := origin.Origin{Scheme: s1, Host: h1, Port: p1}, origin.Origin{Scheme: s2, Host: h2, Port: p2}
		if back, err := originOf(keyOf(a)); err != nil || back != a {
			t.Errorf("%q comes back as %q, %v", a, back, err)
		}
		if a != b && bytes.Equal(keyOf(a), keyOf(b)) {
			t.Errorf("%q and %q have one key", a, b)
		}
		_, _ = originOf([]byte(s1 + h1 + p1)) // whatever it is
	})
}

func encoded(t testing.TB, r fetch.Record) (key, b []byte) {
	t.Helper()
	key = keyOf(storetest.HTTPS("a.example"))
	b, err := encodeRecord(key, &kept{Record: r, size: uint64(len(r.Body))})
	if err != nil {
		t.Fatal(err)
	}
	return key, b
}

// Whatever is changed in a record makes it none: above all it does not become
// one that allows more.
func TestRecordThatWasChangedAnywhereIsNone(t *testing.T) {
	key, b := encoded(t, fetch.Record{Access: policy.Unreachable, Checked: time.Unix(1e9, 0), Err: "refused", Attempts: 3})
	if _, err := decodeRecord(key, b); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		for bit := range 8 {
			changed := bytes.Clone(b)
			changed[i] ^= 1 << bit
			if r, err := decodeRecord(key, changed); err == nil {
				t.Errorf("octet %d, bit %d: %+v", i, bit, r)
			}
		}
		if r, err := decodeRecord(key, b[:i]); err == nil {
			t.Errorf("cut to %d octets: %+v", i, r)
		}
	}
	if r, err := decodeRecord(key, append(bytes.Clone(b), 0)); err == nil {
		t.Errorf("one octet more: %+v", r)
	}
	if r, err := decodeRecord(keyOf(storetest.HTTPS("b.example")), b); err == nil {
		t.Errorf("under another key: %+v", r)
	}
}

// FuzzRecord decodes what has the right checksum: a writer that is wrong, or of
// another time.
func FuzzRecord(f *testing.F) {
	key, b := encoded(f, storetest.Successful("Disallow: /\n"))
	f.Add(b[:len(b)-checksumSize])
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := decodeRecord(key, append(bytes.Clone(content), checksum(key, content)...))
		if err != nil {
			return
		}
		again, err := encodeRecord(key, r)
		if err != nil {
			t.Fatalf("%+v cannot be written again: %v", r, err)
		}
		back, err := decodeRecord(key, again)
		if err != nil {
			t.Fatal(err)
		}
		if d := storetest.Equal(back.Record, r.Record); d != "" || back.size != r.size {
			t.Error(d)
		}
	})
}

func FuzzBody(f *testing.F) {
	c, err := newCoder()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c.encode([]byte(strings.Repeat("Disallow: /\n", 100))))
	f.Add([]byte{bodyVersion, codingPlain, 3, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if body, err := c.decode(sha256.Sum256([]byte("nothing like it")), b); err == nil {
			t.Errorf("%q is taken for another body", body)
		}
		back, err := c.decode(sha256.Sum256(b), c.encode(b))
		if err != nil || !bytes.Equal(back, b) || back == nil {
			t.Errorf("%q comes back as %q, %v", b, back, err)
		}
	})
}

func TestPatternsAreReadAsPeopleTypeThem(t *testing.T) {
	for _, row := range []struct {
		text     string
		is       string // as printed; "" : a fault
		has, not string // origins
	}{
		{"example.com", "example.com", "http://example.com:8080", "https://www.example.com"},
		{"Example.COM.", "example.com", "https://example.com", "https://example.org"},
		{"https://example.com/x?y#z", "https://example.com:443", "https://example.com", "http://example.com"},
		{"http://example.com", "http://example.com:80", "http://example.com", "http://example.com:8080"},
		{"example.com:8080", "example.com:8080", "https://example.com:8080", "https://example.com"},
		{"example.com/robots.txt", "example.com", "https://example.com", "https://a.example.com"},
		{"*.example.com", "*.example.com", "http://a.b.example.com", "https://example.com"},
		{"https://*.example.com", "https://*.example.com", "https://a.example.com:444", "http://a.example.com"},
		{"*", "*", "http://any.example", ""},
		{"bücher.example", "xn--bcher-kva.example", "https://xn--bcher-kva.example", ""},
		{"::1", "[::1]", "http://[::1]:81", "http://127.0.0.1"},
		{"[::1]:8080", "[::1]:8080", "http://[::1]:8080", "http://[::1]"},
		{"127.0.0.1", "127.0.0.1", "http://127.0.0.1", ""},
		{"", "", "", ""},
		{"ftp://example.com", "", "", ""},
		{"exa mple.com", "", "", ""},
		{"a.*.example", "", "", ""},
		{"*.127.0.0.1", "", "", ""},
		{"example.com:99999", "", "", ""},
		{"user@example.com", "", "", ""},
	} {
		p, err := ParsePattern(row.text)
		if row.is == "" {
			if err == nil || !strings.Contains(err.Error(), "write ") {
				t.Errorf("%q: %+v, %v: want a fault that says what to write", row.text, p, err)
			}
			continue
		}
		if err != nil || p.String() != row.is {
			t.Errorf("%q: %s, %v, want %s", row.text, p, err, row.is)
			continue
		}
		if back, err := ParsePattern(p.String()); err != nil || back != p {
			t.Errorf("%q: %s is read as %+v, %v", row.text, p, back, err)
		}
		for o, want := range map[string]bool{row.has: true, row.not: false} {
			scheme, authority, ok := strings.Cut(o, "://")
			if !ok {
				continue
			}
			parsed, err := origin.Parse(scheme, authority)
			if err != nil {
				t.Fatal(err)
			}
			if p.Matches(parsed) != want {
				t.Errorf("%q and %s: %v", row.text, o, !want)
			}
		}
	}
}
