package proxy

import (
	"strconv"
	"strings"
	"time"
)

// texts are what was put together for one answer, one behind the other in one
// piece of memory. What a method returns stays as it is.
type texts struct{ strings.Builder }

// roomForTexts is what those of an ordinary denial take, its fields included.
const roomForTexts = 768

// since returns what was written from an offset on.
func (t *texts) since(offset int) string { return t.String()[offset:] }

func (t *texts) join(parts ...string) string {
	from := t.Len()
	for _, part := range parts {
		t.WriteString(part)
	}
	return t.since(from)
}

func (t *texts) octets(b []byte) string {
	from := t.Len()
	t.Write(b)
	return t.since(from)
}

func (t *texts) number(n int) string {
	var room [20]byte
	return t.octets(strconv.AppendInt(room[:0], int64(n), 10))
}

func (t *texts) moment(m time.Time) string {
	var room [len(time.RFC3339)]byte
	return t.octets(m.UTC().AppendFormat(room[:0], time.RFC3339))
}

// sentence ends with a full stop. It begins with a capital, unless the words
// are the system's: "dial tcp", "tls: …", "x509: …", a URL.
func (t *texts) sentence(s string) string {
	s = shown(s)
	if s == "" {
		return s
	}
	from := t.Len()
	if word, _, _ := strings.Cut(s, " "); 'a' <= s[0] && s[0] <= 'z' && !strings.ContainsAny(word, ":.") && !foreign[word] {
		t.WriteByte(s[0] - 'a' + 'A')
		s = s[1:]
	}
	t.WriteString(s)
	if !strings.HasSuffix(s, ".") {
		t.WriteByte('.')
	}
	return t.since(from)
}

// foreign are the words that errors of the network begin with.
var foreign = map[string]bool{"dial": true, "read": true, "write": true, "lookup": true, "net/http": true, "http2": true, "remote": true}
