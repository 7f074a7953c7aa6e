// Package replay decides the exchanges of a log again, as another configuration
// would have: it reads the lines that package audit writes, and says what of them
// would be denied that was forwarded, and the reverse.
//
//	tally := replay.NewTally()
//	err := replay.Read(ctx, "audit.log", file, config, tally, nil)
//
// # What is decided again
//
// The decision on a URL: by the robots.txt of its origin, or by the operator in
// its place, for the client's product tokens, in a mode. What denied an exchange
// for another reason (who may use the proxy, which address may be connected to, a
// request that cannot be read) stands as it was; what a client's pace, a client
// that did not say who it is, or a robots.txt that came late denied stands unless
// the mode is report. Whether a robots.txt would have been there in time, or an
// origin would have answered, is not decided again.
//
// Over the robots.txt files of the time, and with the configuration of the time,
// nothing changes: the tests of package app hold that against a heed's own lines.
//
// # Cost
//
// A line costs a microsecond or two, and what its decision costs. Memory is
// bounded, however long the log: a few batches of lines, the robots.txt files that
// were used last (Remember), and counts for at most 20,000 origins and rules.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"unicode"

	"heed/internal/agent"
	"heed/internal/lines"
	"heed/internal/origin"
	"heed/internal/override"
	"heed/policy"
)

// Robots is where robots.txt files come from. An error says, in a few words, why
// there is none for an origin to decide by. It must be safe for concurrent use.
type Robots interface {
	Snapshot(ctx context.Context, o origin.Origin) (*policy.Snapshot, error)
}

// Config is what is tried.
type Config struct {
	Robots Robots // required

	// Configured tells that the overrides and the clients are those of a
	// configuration. Otherwise what an override decided stays decided, and who
	// asked who it was.
	Configured bool
	Overrides  *override.Table                     // nil: none
	Named      map[string]*agent.Client            // by their names
	At         func(addr netip.Addr) *agent.Client // by the address that they ask from; nil: none

	// Reports tells whether the mode is report for an origin and a client, whose
	// own mode is "" where it has none. Nil: the mode stays what it was, as far as
	// a line tells: what was reported is, and all else is enforced.
	Reports func(o origin.Origin, client string) bool

	// Token is the product token that everybody asks as; empty: as they did.
	Token string

	// Decide makes a decision of a snapshot, where that is not Snapshot.Decide. A
	// Decision without a Reason says that there is none.
	Decide func(s *policy.Snapshot, t policy.Tokens, target string) policy.Decision
}

// Change is an exchange that another verdict would have been given to.
type Change struct {
	ID         string   `json:"id"`
	URL        string   `json:"url"`
	Tokens     []string `json:"tokens"` // asked as, the main ones first
	Before     string   `json:"before"` // denied, forwarded or reported
	After      string   `json:"after"`
	Reason     string   `json:"reason"` // why, after, in one word
	Rule       string   `json:"rule"`   // that decides; empty where none does
	Line       int      `json:"line"`   // its line, 0 where none does
	ReasonThen string   `json:"reason_before"`
	RuleThen   string   `json:"rule_before"`
	LineThen   int      `json:"line_before"`
}

// Fault is a line that cannot be read.
type Fault struct {
	Log   string `json:"log"`
	Line  int    `json:"line"`
	Cause string `json:"cause"`
}

func (f Fault) Error() string { return fmt.Sprintf("%s:%d: %s", f.Log, f.Line, f.Cause) }

// Read decides the exchanges of one log again, adds them up, and hands each
// change to changed, in the order of the log, unless that is nil. The error is
// that of reading, or of changed; what was read before it is in the tally.
func Read(ctx context.Context, name string, log io.Reader, c Config, t *Tally, changed func(*Change) error) error {
	err := lines.Work(log, func() func(*lines.Batch) *batch {
		var r reader
		return func(b *lines.Batch) *batch { return c.work(ctx, name, &r, b, changed != nil) }
	}, func(b *batch, _ bool) error {
		t.add(b.counts, b.faults)
		for i := range b.changes {
			if err := changed(&b.changes[i]); err != nil {
				return &changedError{err}
			}
		}
		return ctx.Err()
	})
	var own *changedError
	if errors.As(err, &own) {
		return own.error
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// changedError is an error of the function that is told of changes.
type changedError struct{ error }

// batch is what came of some lines.
type batch struct {
	counts  *counts
	faults  []Fault
	changes []Change
}

// work reads and decides the lines of a batch.
func (c *Config) work(ctx context.Context, name string, r *reader, in *lines.Batch, wantChanges bool) *batch {
	out := &batch{counts: newCounts()}
	for i, line := range in.Lines {
		if line == nil {
			out.faults = append(out.faults, Fault{name, in.First + i, "longer than " + strconv.Itoa(lines.Longest) + " octets"})
			continue
		}
		if isBlank(line) {
			out.counts.passed++
			continue
		}
		var x exchange
		kind, err := r.read(line, &x)
		switch {
		case err != nil:
			out.faults = append(out.faults, Fault{name, in.First + i, err.Error()})
		case kind == other:
			out.counts.passed++
		case kind == answered:
			out.counts.answered++
		default:
			before, after := x.before(), c.after(ctx, &x)
			out.counts.add(&x, &before, &after)
			if wantChanges && changes(&before, &after) {
				out.changes = append(out.changes, c.changeOf(&x, &before, &after))
			}
		}
	}
	return out
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if !unicode.IsSpace(rune(c)) {
			return false
		}
	}
	return true
}

// changes tells whether an exchange would be denied that was forwarded, or the
// reverse.
func changes(before, after *outcome) bool {
	return after.verdict != unknown && (before.verdict == denied) != (after.verdict == denied)
}

func (c *Config) changeOf(x *exchange, before, after *outcome) Change {
	who := c.tokens(x, c.client(x))
	tokens := append(append([]string{}, who.Main...), who.Also...)
	if len(tokens) == 0 {
		tokens = []string{"*"}
	}
	url := x.originText + x.target
	if x.connect {
		url = x.originText
	}
	return Change{
		ID: x.id, URL: url, Tokens: tokens,
		Before: before.verdict.String(), After: after.verdict.String(),
		Reason: after.reason, Rule: after.rule, Line: after.line,
		ReasonThen: before.reason, RuleThen: before.rule, LineThen: before.line,
	}
}
