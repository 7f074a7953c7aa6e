// Package override finds the override that is in force for an origin: the word
// of the operator that takes the place of the origin's robots.txt.
//
//	table, err := override.New([]override.Record{{Override: …, Host: "a.example"}})
//	if r := table.Find(o, time.Now()); r != nil {
//		decision := r.Decide(tokens, target)
//	}
//
// # Which one counts
//
// The one that names the origin most closely: its very origin, else its host,
// else, of the patterns *.NAME that it is below, the one with the longest NAME.
// The order in which they are written means nothing, and no two can be equally
// close: New refuses a second one for the same origins.
//
// # Time
//
// An override that has expired is passed over as if it were not there, so that
// a less close one may count again. Time comes in as a parameter of Find; the
// wall clock counts, not the monotonic one. Watch is the only thing here that
// reads a clock: it reports each override once when it has expired.
//
// # Cost
//
// Find asks a map once for the origin, once for the host, and once for each dot
// in the host. It takes no lock and allocates nothing. A nil Table has no
// overrides.
package override

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"heed/internal/origin"
	"heed/policy"
)

// Record is an override and what it applies to: either an origin or hosts.
type Record struct {
	policy.Override // its For is set by New

	Origin origin.Origin  // the one origin; zero: Host says which
	Host   string         // every origin of a host (origin.Origin's form), or of all hosts below NAME by *.NAME
	Rules  *policy.Policy // the operator's file; nil unless the action is policy.UseOperatorsRules
}

// Decide says whether the client may request target; see policy.Override.
func (r *Record) Decide(t policy.Tokens, target string) policy.Decision {
	return r.Override.Decide(r.Rules, t, target)
}

// InForce tells whether the override has an effect at a time.
func (r *Record) InForce(now time.Time) bool {
	return r.Expires.IsZero() || now.Before(r.Expires)
}

// Table is a set of overrides. Make one with New; it does not change, and is
// safe for concurrent use. A nil Table is empty.
type Table struct {
	records origin.Closest[*Record]
	expire  []*Record // those that do, the first to expire first
}

// New returns the table of some records. The error names one that applies to
// nothing, one for the same as another, or one whose file has no rules.
func New(records []Record) (*Table, error) {
	t := new(Table)
	for i := range records {
		r := records[i]
		if err := t.add(&r); err != nil {
			return nil, fmt.Errorf("overrides[%d]: %w", i, err)
		}
		if !r.Expires.IsZero() {
			t.expire = append(t.expire, &r)
		}
	}
	slices.SortStableFunc(t.expire, func(a, b *Record) int { return a.Expires.Compare(b.Expires) })
	return t, nil
}

func (t *Table) add(r *Record) error {
	if r.For = r.Host; r.Host == "" {
		r.For = r.Origin.String()
	}
	if err := t.records.Add(r.Origin, r.Host, r); errors.Is(err, origin.ErrSaidTwice) {
		return fmt.Errorf("%w for %s", err, r.For)
	} else if err != nil {
		return err
	}
	if (r.Action == policy.UseOperatorsRules) != (r.Rules != nil) {
		return fmt.Errorf("%s: rules belong to the action %s, and to no other", r.For, policy.UseOperatorsRules)
	}
	return nil
}

// Find returns the override that counts for an origin at a time, nil if none
// does.
func (t *Table) Find(o origin.Origin, now time.Time) *Record {
	if t == nil {
		return nil
	}
	r, _ := t.records.Find(o, func(r *Record) bool { return r.InForce(now) })
	return r
}

// Len is how many overrides there are, expired ones included.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return t.records.Len()
}

// Expired returns the overrides that have no effect any more, the one that
// expired first at the front.
func (t *Table) Expired(now time.Time) []*Record {
	if t == nil {
		return nil
	}
	n, _ := slices.BinarySearchFunc(t.expire, now, func(r *Record, now time.Time) int {
		if r.InForce(now) {
			return 1
		}
		return -1
	})
	return t.expire[:n:n]
}
