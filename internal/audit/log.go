package audit

import (
	"cmp"
	"io"
	"strconv"
	"sync"

	"github.com/rs/zerolog"

	"heed/internal/logfile"
	"heed/policy"
)

// Log returns a sink that writes the canonical line of each exchange at level
// info: fixed field names, one line, client data only in fields (the console
// writer escapes fields but not messages).
func Log(l zerolog.Logger) func(*Entry) {
	return func(e *Entry) {
		ev := l.Info()
		if !ev.Enabled() {
			return
		}
		var buffer [lineOctets]byte
		// zerolog takes a value as it is, and so the members that follow it:
		// call by call they would cost twice as much.
		ev.RawJSON("id", appendEntry(buffer[:0], e)).Msg("exchange")
	}
}

// Lines is Log at less cost, for a writer that gets a Logger's lines:
// each whole, with its time as logfile.Stamp writes it.
func Lines(w io.Writer) func(*Entry) {
	return func(e *Entry) {
		buffer := buffers.Get().(*[lineOctets]byte)
		defer buffers.Put(buffer)
		l := members(buffer[:0]).name(`{"level":"info","id":`)
		l = appendEntry(l, e)
		l = logfile.AppendStamp(l.name(`,"time":`), e.Start.Add(e.Duration))
		_, _ = w.Write(l.name(`,"message":"exchange"}` + "\n")) // zerolog would say on standard error that it failed; logfile counts it
	}
}

var buffers = sync.Pool{New: func() any { return new([lineOctets]byte) }}

// lineOctets is what most lines fit in.
const lineOctets = 1 << 10

// appendEntry appends the value of id and all members after it.
func appendEntry(dst members, e *Entry) members {
	l := dst.text(e.ID)
	l = l.name(`,"client":`).client(e.Client)
	l = l.name(`,"channel":`).word(e.Channel.String())
	l = l.name(`,"proto":`).text(e.Proto)
	l = l.name(`,"method":`).text(e.Method)
	l = l.name(`,"origin":`).text(e.Origin)
	l = l.name(`,"path":`).text(e.Target)
	l = l.name(`,"tokens":`).tokens(e.Tokens)
	l = l.name(`,"verdict":`).word(e.Verdict.String())
	l = l.name(`,"reason":`).text(e.Reason)
	d := &e.Decision
	if e.Snapshot != nil || d.Allowed || d.Override != nil {
		l = l.name(`,"rule":`).text(d.Rule())
		l = l.name(`,"line":`).number(int64(d.Line))
	}
	l = l.unlessEmpty(`,"group":`, d.Group)
	l = l.unlessEmpty(`,"form":`, d.Form)
	l = l.unlessEmpty(`,"dialect":`, d.Dialect)
	if d.Override != nil {
		l = l.override(d.Override)
	}
	l = l.name(`,"status":`).number(int64(e.Status))
	l = l.name(`,"bytes_in":`).number(e.BytesIn)
	l = l.name(`,"bytes_out":`).number(e.BytesOut)
	l = l.name(`,"ms":`).millis(e.Duration)
	l = l.name(`,"robots_ms":`).millis(e.RobotsWait)
	l = l.name(`,"origin_ms":`).millis(e.OriginWait)
	if e.PaceWait > 0 {
		l = l.name(`,"pace_ms":`).millis(e.PaceWait)
	}
	if e.Pace.Cause != "" {
		l = l.name(`,"pace":`).word(e.Pace.Cause)
		l = l.name(`,"interval_ms":`).millis(e.Pace.Interval)
		l = l.name(`,"pace_line":`).number(int64(e.Pace.Line))
	}
	if e.Pace.Asked > 0 {
		l = l.name(`,"pace_asked_ms":`).millis(e.Pace.Asked)
	}
	if e.Identity != nil {
		l = l.identity(e.Identity)
	}
	if e.Report {
		l = l.report(e)
	}
	l = l.further(e)
	return l.unlessEmpty(`,"cause":`, cmp.Or(e.Err, e.Denial.Cause))
}

// report appends that it was forwarded only because the mode is report, whether
// for its pace too, and for what it would have been denied where reason says
// something else.
func (l members) report(e *Entry) members {
	l = append(l.name(`,"report":`), "true"...)
	if e.IsPacedToo() {
		l = append(l.name(`,"paced":`), "true"...)
	}
	if e.Denial.Reason == e.Reason {
		return l
	}
	return l.name(`,"denial":`).text(e.Denial.Reason)
}

// further appends, where there are some, which of the tokens are further ones,
// and the User-Agent fields where the decision rests on them too: from these it
// can be made again.
func (l members) further(e *Entry) members {
	if len(e.Tokens.Also) > 0 {
		l = l.name(`,"also":`).list(e.Tokens.Also)
	}
	if len(e.Tokens.Fields) > 0 && e.looksAtFields() {
		l = l.name(`,"user_agent":`).list(e.Tokens.Fields)
	}
	return l
}

// looksAtFields tells whether a dialect may have looked for names in the whole
// User-Agent fields: rules were compiled with policy.Options.Cautious, or are
// the operator's, of which nobody knows here.
func (e *Entry) looksAtFields() bool {
	if o := e.Decision.Override; o != nil {
		return o.Action == policy.UseOperatorsRules
	}
	return e.Snapshot != nil && e.Snapshot.Cautious
}

// identity appends who asked, by the name that the configuration has for it.
func (l members) identity(i *Identity) members {
	l = l.name(`,"client_name":`).text(i.Name)
	l = l.unlessEmpty(`,"purpose":`, i.Purpose)
	l = l.unlessEmpty(`,"project":`, i.Project)
	return l.unlessEmpty(`,"client_contact":`, i.Contact)
}

// override appends on whose word it was decided. What may be empty is left out
// then.
func (l members) override(o *policy.Override) members {
	l = l.name(`,"override":`).text(o.For)
	l = l.name(`,"override_action":`).text(o.Action.String())
	l = l.unlessEmpty(`,"override_file":`, o.File)
	l = l.name(`,"override_reason":`).text(o.Reason)
	l = l.unlessEmpty(`,"override_reference":`, o.Reference)
	l = l.name(`,"override_owner":`).text(o.Owner)
	return l.unlessEmpty(`,"override_expires":`, o.Until())
}

// tokens appends who asked, the main one first; "*" where nobody was named.
func (l members) tokens(t policy.Tokens) members {
	if len(t.Main)+len(t.Also) == 0 {
		return append(l, `["*"]`...)
	}
	return l.list(t.Main, t.Also)
}

// list appends an array of texts, of which there are some.
func (l members) list(all ...[]string) members {
	l = append(l, '[')
	for _, texts := range all {
		for _, text := range texts {
			l = append(l.text(text), ',')
		}
	}
	l[len(l)-1] = ']'
	return l
}

func (l members) number(n int64) members { return strconv.AppendInt(l, n, 10) }
