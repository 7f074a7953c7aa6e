package faults

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// zipped is s in the coding gzip.
func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s) // into memory
	_ = z.Close()
	return b.String()
}

func deflated(s string) string {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(z, s) // into memory
	_ = z.Close()
	return b.String()
}

// codings are faults of Content-Encoding (RFC 9110 §8.4). heed asks for gzip or
// none; a page's is between client and origin.
func codings() []Row {
	row := func(name, why, coding, body string, r *Robots) Row {
		return Row{
			Name: name, Why: why, Do: write(reply(ok, body, text, "Content-Encoding: "+coding)),
			Robots: r, Page: forwarded(200).body(body),
		}
	}
	z := zipped(Good)
	broken := z[:len(z)-8] + "\x00\x00\x00\x00" + z[len(z)-4:]
	return []Row{
		row("gzip", "nothing is wrong", "gzip", z, rules(1)),
		row("x-gzip", "RFC 9110 §8.4.1.3: the same", "x-gzip", z, rules(1)),
		row("GZIP", "names of codings know no case", "GZIP", z, rules(1)),
		row("gzip in two members", "RFC 1952 §2.2: read as one", "gzip", zipped(Good[:14])+zipped(Good[14:]), rules(1)),
		row("identity", "no coding", "identity", Good, rules(1)),
		row("an empty Content-Encoding", "no coding", "", Good, rules(1)),
		row("gzip of nothing", "an empty file", "gzip", zipped(""), noRules(1)),
		row("gzip without a body", "labelled, but empty", "gzip", "", noRules(1)),
		row("gzip with a plain body", "who reads it as plain would trust a guess", "gzip", Good, unreachable(1)),
		row("gzip cut short", "the missing lines may be the rules", "gzip", z[:len(z)-10], unreachable(1)),
		row("gzip without its sum", "cut short", "gzip", z[:len(z)-8], unreachable(1)),
		row("gzip with a wrong sum", "the octets are not those that were packed", "gzip", broken, unreachable(1)),
		row("gzip with rubbish behind it", "not one whole body", "gzip", z+"rubbish that is no member", unreachable(1)),
		row("gzip twice", "one coding was asked for", "gzip, gzip", zipped(z), unreachable(1)),
		row("deflate", "not asked for", "deflate", deflated(Good), unreachable(1)),
		row("br", "not asked for", "br", "\x0b\x10\x80User-agent: *\nDisallow: /private\n\x03", unreachable(1)),
		row("zstd", "not asked for", "zstd", "\x28\xb5\x2f\xfd", unreachable(1)),
		row("a coding that nobody knows", "not asked for", "rot13", Good, unreachable(1)),
		{
			Name: "gzip with an endless name inside", Why: "octets that expand to nothing are bounded too",
			Do:     do(write(head(ok, "Content-Encoding: gzip"), "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff"), flood("name")),
			Robots: unreachable(1),
		},
		{
			Name: "gzip in endless empty members", Why: "octets that expand to nothing are bounded too",
			Do:     do(write(head(ok, "Content-Encoding: gzip"), z), flood(zipped(""))),
			Robots: unreachable(1),
		},
		{
			Name: "a gzip bomb", Why: "no robots.txt is packed to a thousandth: it is an attack, or broken", Do: write(reply(ok, bomb(), "Content-Encoding: gzip")),
			Robots: unreachable(1),
		},
		{
			Name: "a gzip bomb as a page", Why: "untouched: nobody here unpacks it",
			Do: write(reply(ok, bomb(), "Content-Encoding: gzip")), Page: forwarded(200).body(bomb()),
		},
	}
}

// bomb is 16 MiB of zeroes, packed.
var bomb = sync.OnceValue(func() string { return zipped(Good + strings.Repeat("\x00", 16<<20)) })

// bodies are odd files (RFC 9309 §2.2, §2.5). What can be read of one counts.
func bodies() []Row {
	row := func(name, why string, r *Robots, body string, fields ...string) Row {
		return Row{
			Name: name, Why: why, Do: write(reply(ok, body, fields...)),
			Robots: r, Page: forwarded(200),
		}
	}
	long := strings.Repeat("x", 10<<20)
	return []Row{
		row("a BOM", "it is not of the first line", rules(1), "\xef\xbb\xbf"+Good),
		row("CR LF", "§2.2: EOL", rules(1), strings.ReplaceAll(Good, "\n", "\r\n")),
		row("CR alone", "§2.2: EOL", rules(1), strings.ReplaceAll(Good, "\n", "\r")),
		row("no end of the last line", "it is a line", rules(1), strings.TrimSpace(Good)),
		row("NULs in a comment", "nobody reads it", rules(1), "# \x00\x00\x00\n"+Good),
		row("octets that are no UTF-8", "the lines that can be read count", rules(1), "# caf\xe9 \xff\xfe\n"+Good),
		row("1,000 empty lines", "they say nothing", rules(1), strings.Repeat("\n", 1000)+Good),
		row("zeroes", "a file without a line that can be read", noRules(1), strings.Repeat("\x00", 1000)),
		row("HTML", "read as any file", noRules(1), "<!doctype html><title>Home</title><p>Welcome", "Content-Type: text/html"),
		row("rules in HTML", "read as any file", rules(1), "<!doctype html>\n"+Good+"</html>", "Content-Type: text/html"),
		row("an image by its type", "the type is not asked", rules(1), Good, "Content-Type: image/png"),
		row("a type that is none", "the type is not asked", rules(1), Good, "Content-Type: ;;;=,"),
		row("a charset that nobody knows", "what can be read counts", rules(1), Good, "Content-Type: text/plain; charset=klingon"),
		row("Latin-1", "as declared", rules(1), "# caf\xe9\n"+Good, "Content-Type: text/plain; charset=iso-8859-1"),
		row("10 MiB in one line behind the rules", "§2.5: the first 500 KiB count", rules(1), Good+"# "+long),
		row("10 MiB in one line before the rules", "§2.5: the first 500 KiB count", noRules(1), "# "+long+"\n"+Good),
		row("1 MiB of rules", "§2.5: the first 500 KiB count", rules(1), Good+strings.Repeat("Disallow: /x\n", 80_000)),
		{
			Name: "an endless body", Why: "§2.5: the first 500 KiB count; a page is streamed for as long as the client reads",
			Do: do(write(head(ok), Good), flood("# endless\n")), Robots: rules(1), Page: forwarded(200).takes(10 * time.Second),
		},
		{
			Name: "an endless chunked body", Why: "§2.5: the first 500 KiB count",
			Do: do(write(head(ok, chunked), chunk(Good)), flood(chunk("# endless\n"+strings.Repeat("#", 1000)))), Robots: rules(1), Page: forwarded(200).takes(10 * time.Second),
		},
	}
}

// charsets are files in another charset than UTF-8, as they declare.
func charsets() []Row {
	encode := func(put func([]byte, uint16) []byte, s string) string {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = put(b, u)
		}
		return string(b)
	}
	row := func(name, charset, body string) Row {
		return Row{Name: name, Why: "read as declared", Do: write(reply(ok, body, "Content-Type: text/plain; charset="+charset)), Robots: rules(1)}
	}
	big, little := encode(binary.BigEndian.AppendUint16, Good), encode(binary.LittleEndian.AppendUint16, Good)
	return []Row{
		row("UTF-16 with a BOM", "utf-16", "\xff\xfe"+little),
		row("UTF-16 with the other BOM", "utf-16", "\xfe\xff"+big),
		row("UTF-16BE", "UTF-16BE", big),
		row("UTF-16LE", `"utf-16le"`, little),
	}
}
