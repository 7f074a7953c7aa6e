package audit

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/policy"
)

// zerologLine is the line of an entry as zerolog writes it member by member.
func zerologLine(e *Entry) string {
	var b bytes.Buffer
	l := zerolog.New(&b)
	tokens := append(append([]string{}, e.Tokens.Main...), e.Tokens.Also...)
	if len(tokens) == 0 {
		tokens = []string{"*"}
	}
	ev := l.Info().
		Str("id", e.ID).Stringer("client", e.Client).Stringer("channel", e.Channel).
		Str("proto", e.Proto).Str("method", e.Method).Str("origin", e.Origin).Str("path", e.Target).
		Strs("tokens", tokens).Stringer("verdict", e.Verdict).Str("reason", e.Reason)
	unlessEmpty := func(name, s string) {
		if s != "" {
			ev.Str(name, s)
		}
	}
	d := e.Decision
	if e.Snapshot != nil || d.Allowed || d.Override != nil {
		ev.Str("rule", d.Rule()).Int("line", d.Line)
	}
	unlessEmpty("group", d.Group)
	unlessEmpty("form", d.Form)
	unlessEmpty("dialect", d.Dialect)
	if o := d.Override; o != nil {
		ev.Str("override", o.For).Stringer("override_action", o.Action)
		unlessEmpty("override_file", o.File)
		ev.Str("override_reason", o.Reason)
		unlessEmpty("override_reference", o.Reference)
		ev.Str("override_owner", o.Owner)
		unlessEmpty("override_expires", o.Until())
	}
	ev.Int("status", e.Status).Int64("bytes_in", e.BytesIn).Int64("bytes_out", e.BytesOut).
		Dur("ms", e.Duration).Dur("robots_ms", e.RobotsWait).Dur("origin_ms", e.OriginWait)
	if i := e.Identity; i != nil {
		ev.Str("client_name", i.Name)
		unlessEmpty("purpose", i.Purpose)
		unlessEmpty("project", i.Project)
		unlessEmpty("client_contact", i.Contact)
	}
	if e.Report {
		ev.Bool("report", true)
		if e.Denial.Reason != e.Reason {
			ev.Str("denial", e.Denial.Reason)
		}
	}
	if len(e.Tokens.Also) > 0 {
		ev.Strs("also", e.Tokens.Also)
	}
	if d.Override != nil && d.Override.Action == policy.UseOperatorsRules && len(e.Tokens.Fields) > 0 {
		ev.Strs("user_agent", e.Tokens.Fields)
	}
	unlessEmpty("cause", cmp.Or(e.Err, e.Denial.Cause))
	ev.Msg("exchange")
	return b.String()
}

// FuzzLogLineIsAsZerologWritesIt: whatever a client or a file has in it.
func FuzzLogLineIsAsZerologWritesIt(f *testing.F) {
	f.Add("/private/x?q=1", "ExampleBot", "", int64(1500), uint16(403))
	f.Add("\"\\\b\f\n\r\t\v\x00\x1f\x7f/<>&", "caf\u00e9\u2028\u202e\U0001f916", "\xff\xe2\x80 \xc3", int64(-1), uint16(0))
	f.Add("12345678\x7f", "1234567\"", "seven\\7", int64(1), uint16(1))
	f.Add("", "*", "a cause", int64(1<<62), uint16(65535))
	f.Fuzz(func(t *testing.T, target, token, text string, number int64, status uint16) {
		e := denied()
		e.ID, e.Target, e.Origin, e.Err = text, target, token+text, text
		e.Method, e.Proto, e.Reason = target[:len(target)/2], text, token
		e.Tokens = policy.Tokens{Main: []string{token}, Also: []string{text, target}}
		e.Decision.Group, e.Decision.Value, e.Decision.Form, e.Decision.Dialect = token, text, target, text
		e.Status, e.BytesIn, e.BytesOut = int(status), number, -number
		e.Duration, e.RobotsWait, e.OriginWait = time.Duration(number), time.Duration(uint32(number)), time.Duration(status)
		e.Client = netip.AddrPortFrom(netip.IPv6Unspecified().WithZone(token), status)
		e.Identity = &Identity{Name: token, Purpose: text, Project: target, Contact: text}
		for range 2 {
			if got, want := line(t, e), zerologLine(e); got != want {
				t.Errorf("the line is\n%swant\n%s", got, want)
			}
			e.Client, e.Tokens, e.Snapshot, e.Identity = netip.AddrPort{}, policy.Tokens{Fields: []string{text, target}}, nil, nil
			e.Report, e.Denial = true, Denial{Reason: text, Cause: target}
			e.Decision = policy.Decision{Override: &policy.Override{For: token, Action: policy.UseOperatorsRules, File: text, Reason: target, Reference: text, Owner: token, Expires: time.Unix(number>>20, 0)}}
		}
	})
}

// TestDurationsAreAsZerologWritesThem, over all orders of magnitude.
func TestDurationsAreAsZerologWritesThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		d := time.Duration(random.Int64N(1 << (1 + i%62)))
		e := &Entry{Duration: d, RobotsWait: d / 1000 * 1000, OriginWait: d / 1_000_000 * 1_000_000}
		if got, want := line(t, e), zerologLine(e); got != want {
			t.Fatalf("of %d ns the line is\n%swant\n%s", d, got, want)
		}
	}
}

func TestALineIsMadeWithoutAllocation(t *testing.T) {
	e := denied()
	e.Decision = policy.Decision{Allowed: true, Reason: policy.ReasonNoMatch, Token: "examplebot", Group: "ExampleBot", GroupLine: 10}
	log := Log(zerolog.New(discard{}))
	lines := Lines(discard{})
	for name, log := range map[string]func(*Entry){"Log": log, "Lines": lines} {
		if n := testing.AllocsPerRun(100, func() { log(e) }); n != 0 {
			t.Errorf("%s: %v allocations for a line, want none", name, n)
		}
	}
}

// TestLinesAreThoseOfALog, and their time is that of the exchange's end.
func TestLinesAreThoseOfALog(t *testing.T) {
	for _, e := range []*Entry{
		denied(),
		{Start: time.Date(2026, 3, 4, 5, 6, 7, 999_000_000, time.UTC), Duration: 2 * time.Millisecond},
		{Start: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Target: strings.Repeat("long", lineOctets)},
	} {
		var b bytes.Buffer
		Lines(&b)(e)
		stamp := `"time":"` + e.Start.Add(e.Duration).Format("2006-01-02T15:04:05.000Z") + `",`
		if got, want := b.String(), strings.Replace(line(t, e), `"message"`, stamp+`"message"`, 1); got != want {
			t.Errorf("the line is\n%swant\n%s", got, want)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error)                       { return len(p), nil }
func (discard) WriteLevel(_ zerolog.Level, p []byte) (int, error) { return len(p), nil }

func BenchmarkLines(b *testing.B) {
	e := denied()
	log := Lines(discard{})
	b.ReportAllocs()
	for b.Loop() {
		log(e)
	}
}
