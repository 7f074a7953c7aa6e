package replay

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"heed/internal/origin"
	"heed/policy"
)

// exchange is what a line tells of an exchange.
type exchange struct {
	id         string
	origin     origin.Origin // zero where the line has none
	originText string
	target     string // path and query; "/" where an unread tunnel was decided on
	connect    bool
	tokens     policy.Tokens
	client     netip.AddrPort
	clientName string
	start      time.Time // when it was decided, as far as can be told; zero: not known

	forwarded bool
	report    bool   // only because the mode was report
	reason    string // of a denial, or for which it would have been denied; empty where nothing forbade it
	rule      string
	line      int
	override  string // what the override is for that decided; empty: none
	action    string // of the override
	because   string // the override's reason
}

// kind is what a line is.
type kind uint8

const (
	other    kind = iota // not of an exchange
	answered             // of one that heed answered itself: a page of its own, a tunnel that it looked into
	asked                // of one that was forwarded or denied
)

// reader reads lines. For one goroutine.
type reader struct {
	parser  fastjson.Parser
	origins map[string]origin.Origin // those parsed before; bounded
}

// mostOrigins bounds what a reader remembers.
const mostOrigins = 4096

// read reads one line. The error says what is wrong with it.
func (r *reader) read(line []byte, x *exchange) (kind, error) {
	v, err := r.parser.ParseBytes(line)
	if err != nil {
		return other, errors.New("not JSON: heed writes JSON lines with log.format json, and wherever its log is no terminal")
	}
	if v.Type() != fastjson.TypeObject {
		return other, fmt.Errorf("a JSON %s in place of an object", v.Type())
	}
	if string(v.GetStringBytes("message")) != "exchange" {
		return other, nil
	}
	switch verdict := string(v.GetStringBytes("verdict")); verdict {
	case "answered":
		return answered, nil
	case "forwarded", "denied":
		x.forwarded = verdict == "forwarded"
	default:
		return other, fmt.Errorf("its verdict %q is none that heed writes", verdict)
	}
	for _, name := range [...]string{"id", "channel", "origin", "path", "reason"} {
		if member := v.Get(name); member == nil || member.Type() != fastjson.TypeString {
			return other, fmt.Errorf("it has no %s", name)
		}
	}
	return asked, r.fill(v, x)
}

// fill takes the members of a line.
func (r *reader) fill(v *fastjson.Value, x *exchange) (err error) {
	x.id, x.target = text(v, "id"), text(v, "path")
	x.connect = string(v.GetStringBytes("channel")) == "connect"
	if x.connect {
		x.target = "/"
	}
	x.report = v.GetBool("report")
	switch {
	case x.report && v.Exists("denial"):
		x.reason = text(v, "denial")
	case x.report || !x.forwarded:
		x.reason = text(v, "reason")
	}
	x.rule, x.line = text(v, "rule"), v.GetInt("line")
	x.override, x.action, x.because = text(v, "override"), text(v, "override_action"), text(v, "override_reason")
	x.clientName = text(v, "client_name")
	x.client, _ = netip.ParseAddrPort(text(v, "client")) // zero: it is asked for by its name alone
	x.start = startOf(v)
	if x.tokens, err = tokensOf(v); err != nil {
		return err
	}
	x.originText = text(v, "origin")
	x.origin, err = r.originOf(x.originText)
	return err
}

func text(v *fastjson.Value, member string) string { return string(v.GetStringBytes(member)) }

// startOf is when the exchange began: its line has the end, and how long it
// took.
func startOf(v *fastjson.Value) time.Time {
	end, err := time.Parse(time.RFC3339, text(v, "time"))
	if err != nil {
		return time.Time{}
	}
	return end.Add(-time.Duration(v.GetFloat64("ms") * float64(time.Millisecond)))
}

// tokensOf returns who asked. The further ones are the last of all tokens.
func tokensOf(v *fastjson.Value) (t policy.Tokens, err error) {
	all, err := texts(v, "tokens")
	if err != nil {
		return t, err
	}
	if t.Also, err = texts(v, "also"); err != nil {
		return t, err
	}
	if len(t.Also) > len(all) {
		return t, errors.New("it has more further tokens (also) than tokens")
	}
	t.Main = all[:len(all)-len(t.Also)]
	t.Fields, err = texts(v, "user_agent")
	return t, err
}

func texts(v *fastjson.Value, member string) (all []string, err error) {
	list := v.Get(member)
	if list == nil {
		return nil, nil
	}
	elements, err := list.Array()
	if err != nil {
		return nil, fmt.Errorf("its %s is no array", member)
	}
	for _, e := range elements {
		s, err := e.StringBytes()
		if err != nil {
			return nil, fmt.Errorf("its %s has something else than texts", member)
		}
		all = append(all, string(s))
	}
	return all, nil
}

func (r *reader) originOf(text string) (origin.Origin, error) {
	if o, known := r.origins[text]; known || text == "" {
		return o, nil
	}
	scheme, authority, _ := strings.Cut(text, "://")
	o, err := origin.Parse(scheme, authority)
	if err != nil {
		return o, fmt.Errorf("its origin %q is none: %w", text, err)
	}
	if r.origins == nil || len(r.origins) >= mostOrigins {
		r.origins = map[string]origin.Origin{}
	}
	r.origins[text] = o
	return o, nil
}

// isLossy tells of a target that the log could not hold octet for octet: what
// is no UTF-8 stands there as U+FFFD.
func isLossy(target string) bool { return strings.ContainsRune(target, utf8.RuneError) }
