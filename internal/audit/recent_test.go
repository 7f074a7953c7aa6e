package audit

import (
	"io"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"heed/policy"
)

func named(id int, v Verdict) *Entry { return &Entry{ID: strconv.Itoa(id), Verdict: v} }

func TestRecentFindsWhatWasRecorded(t *testing.T) {
	r := new(Recent)
	if r.Find("1") != nil || r.Find("") != nil {
		t.Error("an empty Recent found something")
	}
	r.Record(named(1, Denied))
	r.Record(named(2, Forwarded))
	r.Record(named(3, Answered))
	for _, id := range []string{"1", "2", "3"} {
		if e := r.Find(id); e == nil || e.ID != id {
			t.Errorf("Find(%q): %v", id, e)
		}
	}
	if e := r.Find("4"); e != nil {
		t.Errorf("Find of an id that never was: %v", e)
	}
}

// TestRecentDisplacesTheOldest: the memory is bounded, and forwards do not
// displace denials.
func TestRecentDisplacesTheOldest(t *testing.T) {
	r := new(Recent)
	for id := range keepDenied + 1 {
		r.Record(named(id, Denied))
	}
	r.Record(&Entry{ID: "reported", Verdict: Forwarded, Report: true})
	for id := range 3 * keepDenied {
		r.Record(named(1_000_000+id, Forwarded))
	}
	if r.Find("reported") == nil {
		t.Error("what would have been denied was displaced by forwards")
	}
	if r.Find("0") != nil {
		t.Error("the oldest denial is still there")
	}
	for _, id := range []int{2, keepDenied / 2, keepDenied, 1_000_000 + 3*keepDenied - 1, 1_000_000 + 3*keepDenied - keepForwarded} {
		if r.Find(strconv.Itoa(id)) == nil {
			t.Errorf("entry %d is gone", id)
		}
	}
	if r.Find(strconv.Itoa(1_000_000+3*keepDenied-keepForwarded-1)) != nil {
		t.Error("one forward too many is kept")
	}
}

// TestRecentKeepsNoRules: a snapshot whose rules were held would keep a
// robots.txt in memory that its owner has dropped.
func TestRecentKeepsNoRules(t *testing.T) {
	r := new(Recent)
	e := denied()
	e.Target = "/" + strings.Repeat("x", 16<<10)
	e.Decision.Value = strings.Repeat("y", 16<<10)
	r.Record(e)
	got := r.Find(e.ID)
	if got.Snapshot == nil || got.Snapshot.URL != e.Snapshot.URL {
		t.Fatalf("the snapshot is %+v", got.Snapshot)
	}
	if got.Snapshot.Rules != nil {
		t.Error("the rules are kept")
	}
	if len(got.Target) > keepText || len(got.Decision.Value) > keepText {
		t.Errorf("texts of %d and %d octets are kept", len(got.Target), len(got.Decision.Value))
	}
	if e.Snapshot.Rules == nil || len(e.Target) < 16<<10 {
		t.Error("the entry that was recorded has changed")
	}
}

// TestRecentReturnsWhatWasRecorded, whatever was in the slot before.
func TestRecentReturnsWhatWasRecorded(t *testing.T) {
	r := new(Recent)
	long := denied()
	long.Target, long.Decision.Pattern = "/"+strings.Repeat("x", 3*idle), strings.Repeat("y", 2*idle)
	stale := denied()
	stale.Client, stale.Tokens.Also = netip.MustParseAddrPort("[fe80::1%eth0]:443"), nil
	stale.Snapshot = &policy.Snapshot{
		URL: "https://a.example/robots.txt", Access: policy.Unreachable, Status: 500, Err: "status 500", Cause: io.ErrUnexpectedEOF,
		Fetched: stale.Start.Add(-3), Checked: stale.Start.Add(-2), StaleSince: stale.Start.Add(-1), RetryAfter: 7, Charset: "decoded",
	}
	known := denied()
	known.Identity = &Identity{Name: "news", Purpose: "an archive", Contact: "lab@a.example"}
	reported := denied()
	reported.Verdict, reported.Report, reported.Denial = Forwarded, true, Denial{"robots-pending", "timeout"}
	for _, e := range []*Entry{long, known, stale, denied(), {ID: "2", Decision: policy.Decision{Allowed: true}, Err: "a cause"}, reported, long} {
		for range keepDenied {
			r.Record(e)
		}
		for range 2 { // what was found is not part of the slot
			got := r.Find(e.ID)
			want := &Entry{
				ID: e.ID, Start: e.Start, Client: e.Client, Channel: e.Channel, Proto: e.Proto, Method: e.Method, Identity: e.Identity,
				Origin: e.Origin, Target: e.Target[:min(len(e.Target), keepText)], Tokens: e.Tokens,
				Verdict: e.Verdict, Decision: e.Decision.Clone(keepText), Reason: e.Reason, Err: e.Err, Status: e.Status, Report: e.Report, Denial: e.Denial,
			}
			if s := e.Snapshot; s != nil {
				want.Consult(&policy.Snapshot{
					URL: s.URL, Access: s.Access, Status: s.Status, Fetched: s.Fetched, Checked: s.Checked,
					StaleSince: s.StaleSince, RetryAfter: s.RetryAfter, Err: s.Err, Cause: s.Cause, Charset: s.Charset,
				})
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("found %+v, want %+v", got, want)
			}
			got.Snapshot, got.Target = nil, "changed"
		}
	}
}

func TestRecordingAllocatesNothingOnceItHasGoneRound(t *testing.T) {
	r, e := new(Recent), denied()
	e.Decision.Form = ""
	for range 2 * keepDenied {
		r.Record(e)
	}
	if n := testing.AllocsPerRun(100, func() { r.Record(e) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkRecent(b *testing.B) {
	r, e := new(Recent), denied()
	b.ReportAllocs()
	for b.Loop() {
		r.Record(e)
	}
}

func TestRecentIsSafeForConcurrentUse(t *testing.T) {
	r := new(Recent)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 200 {
				r.Record(named(worker*10_000+i, Verdict(i%3)))
				if e := r.Find(strconv.Itoa(worker*10_000 + i)); e != nil && e.ID != strconv.Itoa(worker*10_000+i) {
					t.Errorf("found %s in place of %d", e.ID, worker*10_000+i)
				}
			}
		})
	}
	all.Wait()
}
