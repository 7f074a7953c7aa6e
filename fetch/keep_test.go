package fetch

import (
	"strings"
	"testing"
	"time"

	"heed/policy"
)

func TestBodiesAreNotKeptUnlessAskedFor(t *testing.T) {
	o := at(t, "a.example")
	if s := snapshot(t, newFetcher(t, Config{Transport: answers(200, closedFile)}), o); s.Body != nil {
		t.Errorf("a body of %d octets is kept", len(s.Body))
	}
	if s := snapshot(t, newFetcher(t, Config{Transport: answers(200, closedFile), KeepBodies: true}), o); string(s.Body) != closedFile {
		t.Errorf("the body is %q", s.Body)
	}
}

func TestAKeptBodyIsTheFileDecodedUpToTheLimit(t *testing.T) {
	long := strings.Repeat("#", policy.DefaultLimit+10)
	for _, r := range []struct {
		why    string
		answer script
		want   string
	}{
		{"as it came", answers(200, "\xef\xbb\xbfx: \xff\r\n"), "\xef\xbb\xbfx: \xff\r\n"},
		{"gzip", answers(200, zipped(t, closedFile), "Content-Encoding: gzip"), closedFile},
		{"one octet more tells that there is more", answers(200, long), long[:policy.DefaultLimit+1]},
		{"empty", answers(200, ""), ""},
	} {
		s := snapshot(t, newFetcher(t, Config{Transport: r.answer, KeepBodies: true}), at(t, "a.example"))
		if s.Body == nil || string(s.Body) != r.want {
			t.Errorf("%s: %d octets, want %d", r.why, len(s.Body), len(r.want))
		}
	}
	for contentType, want := range map[string]bool{"text/plain": false, "text/plain; charset=UTF-8": true} {
		answer := answers(200, closedFile, "Content-Type: "+contentType)
		if s := snapshot(t, newFetcher(t, Config{Transport: answer, KeepBodies: true}), at(t, "a.example")); s.UTF8 != want {
			t.Errorf("%s: UTF8 is %v", contentType, s.UTF8)
		}
	}
	if s := snapshot(t, newFetcher(t, Config{Transport: answers(404, closedFile), KeepBodies: true}), at(t, "a.example")); s.Body != nil {
		t.Errorf("404: the body is %q", s.Body)
	}
}

func TestAKeptBodyStaysAsLongAsItsRules(t *testing.T) {
	transport := &counted{answer: answers(200, closedFile, "Content-Type: text/plain; charset=utf-8")}
	f := newFetcher(t, Config{Transport: transport, KeepBodies: true, FreshFor: 1})
	o := at(t, "a.example")
	snapshot(t, f, o)
	transport.becomes(answers(503, closedFile+"# an error page"))
	if s := snapshot(t, f, o); s.Rules == nil || string(s.Body) != closedFile || !s.UTF8 {
		t.Errorf("used on: %v, %q, UTF8 is %v", s.Rules, s.Body, s.UTF8)
	}
	if s := f.snapshotOf(f.memory.get(o), momentOf(time.Now()).plus(DefaultStaleFor)); s.Rules != nil || s.Body != nil || s.UTF8 {
		t.Errorf("too old: %v, %q", s.Rules, s.Body)
	}
	audit(t, f.memory)
}

func TestAKeptBodyIsCharged(t *testing.T) {
	without, with := newFetcher(t, Config{Transport: answers(200, closedFile)}), newFetcher(t, Config{Transport: answers(200, closedFile), KeepBodies: true})
	snapshot(t, without, at(t, "a.example"))
	snapshot(t, with, at(t, "a.example"))
	if more := with.Stats().Octets - without.Stats().Octets; more != moreCost+int64(len(closedFile)) {
		t.Errorf("%d octets more are charged, want %d", more, moreCost+len(closedFile))
	}
}
