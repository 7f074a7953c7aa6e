package fetch

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"heed/policy"
)

func TestCharsets(t *testing.T) {
	const file = "User-agent: *\nDisallow: /caf\u00e9/\n"
	latin1, _ := charmap.ISO8859_1.NewEncoder().String(file)
	utf16, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(file)
	bare16, _ := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(file)
	jis, _ := japanese.ISO2022JP.NewEncoder().String("User-agent: *\nDisallow: /\u65e5/\nDisallow: /caf/\n")
	for _, r := range []struct {
		why, charset, body string
		denied, allowed    string
		note               string
	}{
		{"UTF-8, declared", "utf-8", file, "/caf%C3%A9/x", "/caf%E9/x", ""},
		{"UTF-8, not declared", "", file, "/caf%C3%A9/x", "/caf%E9/x", ""},
		{"Latin-1, not declared: its octets", "", latin1, "/caf%E9/x", "/caf%C3%A9/x", ""},
		{"Latin-1, declared", "ISO-8859-1", latin1, "/caf%C3%A9/x", "/cafe/x", "decoded from iso-8859-1"},
		{"and its octets as well: that is how the origin may name its paths", "ISO-8859-1", latin1, "/caf%E9/x", "/cafe/x", "decoded from iso-8859-1"},
		{"declared for all files, but this one is UTF-8", "iso-8859-1", file, "/caf%C3%A9/x", "/cafe/x", "declared as iso-8859-1 and read so, and as UTF-8, which it is"},
		{"and as declared besides", "iso-8859-1", file, "/caf%C3%83%C2%A9/x", "/cafe/x", "declared as iso-8859-1 and read so, and as UTF-8, which it is"},
		{"ASCII, whatever is declared", "windows-1252", closedFile, "/private/x", "/public", ""},
		{"UTF-16 with a mark, not declared", "", utf16, "/caf%C3%A9/x", "/cafe/x", "decoded from utf-16le by its byte order mark"},
		{"a mark goes before what is declared", "iso-8859-1", utf16, "/caf%C3%A9/x", "/cafe/x", "decoded from utf-16le by its byte order mark"},
		{"UTF-16 without a mark, declared", "utf-16be", bare16, "/caf%C3%A9/x", "/cafe/x", "decoded from utf-16be"},
		{"declared as UTF-16, which it is not", "utf-16", closedFile, "/private/x", "/public", "decoded from utf-16"},
		{"a mark of UTF-8 goes before what is declared", "iso-8859-1", "\xef\xbb\xbf" + file, "/caf%C3%A9/x", "/caf%C3%83%C2%A9/x", ""},
		{"seven bits, but not ASCII", "iso-2022-jp", jis, "/%E6%97%A5/", "/x", "declared as iso-2022-jp and read so, and as UTF-8, which it is"},
		{"not known", "x-own", file, "/caf%C3%A9/x", "/cafe/x", `declared as "x-own", which is not known: read as UTF-8`},
		{"known as one not to be decoded", "hz-gb-2312", file, "/caf%C3%A9/x", "/cafe/x", `declared as "hz-gb-2312", which is not known: read as UTF-8`},
		{"a name that is made up", strings.Repeat("x", 1000), file, "/caf%C3%A9/x", "/cafe/x", `declared as "` + strings.Repeat("x", maxCharset) + `", which is not known: read as UTF-8`},
	} {
		contentType := "Content-Type: text/plain"
		if r.charset != "" {
			contentType += "; charset=" + r.charset
		}
		s := snapshot(t, newFetcher(t, Config{Transport: answers(200, r.body, contentType)}), at(t, "a.example"))
		if s.Access != policy.Successful || s.Size != len(r.body) || s.Charset != r.note {
			t.Errorf("%s: %v, %d octets, note %q, want %q", r.why, s.Access, s.Size, s.Charset, r.note)
		}
		if allowed(s, r.denied) {
			t.Errorf("%s: %s is allowed", r.why, r.denied)
		}
		if !allowed(s, r.allowed) {
			t.Errorf("%s: %s is disallowed", r.why, r.allowed)
		}
	}
}

// Equal octets that are declared otherwise are other rules.
func TestEqualOctetsInOtherCharsetsAreNotShared(t *testing.T) {
	b := bodies{limit: policy.DefaultLimit}
	octets := []byte("Disallow: /\xe9\n")
	if b.share(octets, "iso-8859-1").key == b.share(octets, "iso-8859-2").key || b.share(octets, "utf-8").key != b.share(octets, "").key {
		t.Error("the keys do not tell charsets apart")
	}
}

// The limit counts octets as read: what they become when they are decoded is
// all compiled, but for the line that the limit cut.
func TestADecodedFileHasTheRulesUpToTheLimit(t *testing.T) {
	line := "Disallow: /\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9/\n"
	body := "User-agent: *\n" + strings.Repeat(line, policy.DefaultLimit/len(line)-2) + "Disallow: /last/\n"
	padding := strings.Repeat("\xe9", policy.DefaultLimit-len(body)-len("Allow: /last/x"))
	for _, r := range []struct {
		why, body string
		truncated bool
		allowed   string
	}{
		{"up to the limit", body + "#" + padding[1:], false, "/other"},
		{"a rule that the limit cuts is none", body + "Allow: /last/x" + padding + "yyy", true, "/other"},
	} {
		s := snapshot(t, newFetcher(t, Config{Transport: answers(200, r.body, "Content-Type: text/plain; charset=iso-8859-1")}), at(t, "a.example"))
		if s.Truncated != r.truncated || allowed(s, "/last/") || allowed(s, "/last/x") || !allowed(s, r.allowed) {
			t.Errorf("%s: truncated %v, /last/ %v, /last/x %v", r.why, s.Truncated, allowed(s, "/last/"), allowed(s, "/last/x"))
		}
	}
}

func FuzzCharset(f *testing.F) {
	f.Add([]byte(closedFile), "utf-16le")
	f.Add([]byte("\xfe\xff\x00a"), "iso-2022-jp")
	f.Add([]byte("User-agent: *\nDisallow: /\x83\xff\n"), "gb18030")
	f.Fuzz(func(t *testing.T, octets []byte, charset string) {
		b := bodies{limit: 100}
		one := b.share(octets, charset)
		if one.rules == nil || one.truncated != (len(octets) > 100) || len(one.note) > 6*maxCharset { // quoted, an octet may take four
			t.Fatalf("%q: %+v", charset, one)
		}
	})
}
