package audit

import (
	"encoding/binary"
	"net/netip"
	"time"

	"heed/policy"
)

// kept is what is kept of an entry: all that is needed to explain it, but
// neither the rules of its snapshot nor texts that point into them, or into a
// request. Else a few thousand entries would hold on to as many robots.txt
// files, past any bound.
//
// Like policy.Kept it has hardly a pointer.
type kept struct {
	full     bool // there is one
	channel  Channel
	verdict  Verdict
	status   int
	report   bool
	start    int64  // nanoseconds since 1970; 0: not known
	texts    []byte // of the entry and of its snapshot, each after its length
	decision policy.Kept
	pace     Pace
	waited   time.Duration // for its turn

	consulted  bool // there is a snapshot
	access     policy.Access
	answered   int   // its Status
	fetched    int64 // as start
	checked    int64
	staleSince int64
	retryAfter time.Duration
	cause      error
}

// idle is how many octets a slot keeps for texts that may never be as long again.
const idle = 1 << 10

// keep replaces what is kept with e.
func (k *kept) keep(e *Entry) {
	if cap(k.texts)+k.decision.Size() > idle { // the last one was unusual
		k.texts, k.decision = nil, policy.Kept{}
	}
	k.full = true
	k.channel, k.verdict, k.status, k.start = e.Channel, e.Verdict, e.Status, nanos(e.Start)
	k.report = e.Report
	k.decision.Keep(&e.Decision, keepText)
	k.texts, k.pace, k.waited = k.texts[:0], e.Pace, e.PaceWait
	who := e.Identity
	if who == nil {
		who = &nobody
	}
	for _, text := range [...]string{e.ID, e.Proto, e.Method, e.Origin, e.Target, e.Reason, e.Err, e.Denial.Reason, e.Denial.Cause, who.Name, who.Purpose, who.Project, who.Contact} {
		k.put(text)
	}
	k.putAll(e.Tokens.Main)
	k.putAll(e.Tokens.Also)
	k.keepSnapshot(e.Snapshot)
	k.texts, _ = e.Client.AppendBinary(k.texts) // which never fails
}

func (k *kept) keepSnapshot(s *policy.Snapshot) {
	k.consulted = s != nil
	if s == nil {
		s = &noSnapshot
	}
	k.access, k.answered, k.retryAfter = s.Access, s.Status, s.RetryAfter
	k.fetched, k.checked, k.staleSince = nanos(s.Fetched), nanos(s.Checked), nanos(s.StaleSince)
	if k.cause != nil || s.Cause != nil {
		k.cause = s.Cause
	}
	k.put(s.URL)
	k.put(s.Err)
	k.put(s.Charset)
}

var (
	noSnapshot policy.Snapshot
	nobody     Identity
)

// put appends a text, or as much of it as is kept.
func (k *kept) put(text string) {
	n := min(len(text), keepText)
	k.texts = append(binary.AppendUvarint(k.texts, uint64(n)), text[:n]...)
}

func (k *kept) putAll(texts []string) {
	k.texts = binary.AppendUvarint(k.texts, uint64(len(texts)))
	for _, text := range texts {
		k.put(text)
	}
}

// is tells whether an entry with this id is kept.
func (k *kept) is(id string) bool {
	if !k.full {
		return false
	}
	n, length := binary.Uvarint(k.texts)
	return string(k.texts[length:length+int(n)]) == id
}

// restore returns the entry that is kept, in memory of its own.
func (k *kept) restore() *Entry {
	e := &Entry{Channel: k.channel, Verdict: k.verdict, Status: k.status, Report: k.report, Start: moment(k.start), Decision: k.decision.Decision(), Pace: k.pace, PaceWait: k.waited}
	all := reader{octets: k.texts, text: string(k.texts)}
	var who Identity
	for _, text := range [...]*string{&e.ID, &e.Proto, &e.Method, &e.Origin, &e.Target, &e.Reason, &e.Err, &e.Denial.Reason, &e.Denial.Cause, &who.Name, &who.Purpose, &who.Project, &who.Contact} {
		*text = all.next()
	}
	if who != nobody {
		e.Identity = &who
	}
	e.Tokens = policy.Tokens{Main: all.list(), Also: all.list()}
	s := policy.Snapshot{
		Access: k.access, Status: k.answered, RetryAfter: k.retryAfter, Cause: k.cause,
		Fetched: moment(k.fetched), Checked: moment(k.checked), StaleSince: moment(k.staleSince),
		URL: all.next(), Err: all.next(), Charset: all.next(),
	}
	if k.consulted {
		e.Consult(&s)
	}
	var client netip.AddrPort
	if client.UnmarshalBinary(all.octets) == nil { // it was none
		e.Client = client
	}
	return e
}

// reader takes texts as they were put.
type reader struct {
	octets []byte // that are left
	text   string // the same
}

func (r *reader) number() int {
	n, length := binary.Uvarint(r.octets)
	r.octets, r.text = r.octets[length:], r.text[length:]
	return int(n)
}

func (r *reader) next() (text string) {
	n := r.number()
	text = r.text[:n]
	r.octets, r.text = r.octets[n:], r.text[n:]
	return text
}

func (r *reader) list() (texts []string) {
	for range r.number() {
		texts = append(texts, r.next())
	}
	return texts
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}
