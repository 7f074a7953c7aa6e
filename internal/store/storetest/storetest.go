// Package storetest is what every tier that keeps what is known of origins must
// do: one suite, run over each of them.
//
//	func TestFileIsATier(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) fetch.Store { … })
//	}
//
// open makes an empty tier, which the test's cleanup ends.
package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/fetch"
	"heed/internal/origin"
	"heed/policy"
)

// Run tests a tier.
func Run(t *testing.T, open func(t *testing.T) fetch.Store) {
	for _, part := range []struct {
		name string
		test func(*testing.T, fetch.Store)
	}{
		{"an origin that nobody saved has no record", nothing},
		{"a record comes back as it was saved", roundTrip},
		{"distinct origins never meet", distinct},
		{"the last save wins", lastWins},
		{"equal bodies belong to each of their origins", sharedBodies},
		{"a save without a body keeps the body of its sum", keptBody},
		{"a save without a body that nobody has leaves no record", missingBody},
		{"a forgotten origin has no record", forget},
		{"a save after a forget counts", saveAfterForget},
		{"who saves may go on using what it saved", independence},
		{"it is safe for concurrent use", concurrency},
		{"a call that was given up is an error or an answer", givenUp},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
}

// HTTPS returns the origin of a host, as given.
func HTTPS(host string) origin.Origin {
	return origin.Origin{Scheme: "https", Host: host, Port: "443"}
}

// Successful returns a record with a body, every field of it set.
func Successful(body string) fetch.Record {
	now := time.Now().UTC().Round(0)
	return fetch.Record{
		Access: policy.Successful, Status: 200,
		Sum: sha256.Sum256([]byte(body)), Body: []byte(body),
		Charset: "utf-8", ETag: `W/"1"`, LastModified: "Mon, 02 Jan 2006 15:04:05 GMT",
		Hops:    []string{"https://b.example/robots.txt", "https://c.example/robots.txt"},
		Fetched: now, FreshUntil: now.Add(24 * time.Hour), FreshFor: 24 * time.Hour, Checked: now,
	}
}

// Equal says how two records differ, "" if they do not. Times are compared as
// instants.
func Equal(got, want fetch.Record) string {
	var d []string
	differ := func(field string, got, want any) {
		d = append(d, fmt.Sprintf("%s is %v, want %v", field, got, want))
	}
	if got.Access != want.Access {
		differ("Access", got.Access, want.Access)
	}
	if got.Sum != want.Sum {
		differ("Sum", got.Sum, want.Sum)
	}
	if string(got.Body) != string(want.Body) || (got.Body == nil) != (want.Body == nil) {
		differ("Body", fmt.Sprintf("%.60q", got.Body), fmt.Sprintf("%.60q", want.Body))
	}
	if !slices.Equal(got.Hops, want.Hops) {
		differ("Hops", got.Hops, want.Hops)
	}
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"Status", got.Status, want.Status},
		{"Charset", got.Charset, want.Charset},
		{"ETag", got.ETag, want.ETag},
		{"LastModified", got.LastModified, want.LastModified},
		{"FreshFor", got.FreshFor, want.FreshFor},
		{"Attempts", got.Attempts, want.Attempts},
		{"Err", got.Err, want.Err},
	} {
		if f.got != f.want {
			differ(f.name, f.got, f.want)
		}
	}
	for _, f := range []struct {
		name      string
		got, want time.Time
	}{
		{"Fetched", got.Fetched, want.Fetched},
		{"FreshUntil", got.FreshUntil, want.FreshUntil},
		{"Checked", got.Checked, want.Checked},
		{"Retry", got.Retry, want.Retry},
	} {
		if !f.got.Equal(f.want) || f.got.IsZero() != f.want.IsZero() {
			differ(f.name, f.got, f.want)
		}
	}
	return strings.Join(d, "; ")
}

func holds(t *testing.T, s fetch.Store, o origin.Origin, want fetch.Record) {
	t.Helper()
	got, ok, err := s.Load(t.Context(), o)
	if err != nil || !ok {
		t.Errorf("%q: no record (%v), want one", o, err)
		return
	}
	if d := Equal(got, want); d != "" {
		t.Errorf("%q: %s", o, d)
	}
}

func lacks(t *testing.T, s fetch.Store, o origin.Origin) {
	t.Helper()
	if got, ok, err := s.Load(t.Context(), o); ok || err != nil {
		t.Errorf("%q: record %+v, %v, want none", o, got, err)
	}
}

func nothing(t *testing.T, s fetch.Store) { lacks(t, s, HTTPS("a.example")) }

func roundTrip(t *testing.T, s fetch.Store) {
	full := Successful("User-agent: *\nDisallow: /x\n")
	now := full.Checked
	empty := Successful("")
	long := Successful(strings.Repeat("Disallow: /a/b/c\n", 30_000))
	octets := make([]byte, 4096)
	for i := range octets {
		octets[i] = byte(i * 7)
	}
	binary := Successful(string(octets))
	stale := full
	stale.Access, stale.Status, stale.Err, stale.Attempts, stale.Retry = policy.Unreachable, 503, "status 503", 7, now.Add(time.Hour)
	rows := []struct {
		host string
		r    fetch.Record
	}{
		{"full.example", full},
		{"empty.example", empty},
		{"long.example", long},
		{"binary.example", binary},
		{"stale.example", stale},
		{"none.example", fetch.Record{Access: policy.Unavailable, Status: 404, Checked: now, FreshUntil: now.Add(time.Hour), FreshFor: time.Hour}},
		{"down.example", fetch.Record{Access: policy.Unreachable, Checked: now, Retry: now.Add(time.Minute), Attempts: 1, Err: "no such host \x1b[31m\n\xff"}},
		{"old.example", fetch.Record{Access: policy.Unavailable, Status: -1, Checked: time.Unix(-1, 5), Fetched: time.Unix(1<<40, 999_999_999)}},
	}
	for _, row := range rows {
		s.Save(HTTPS(row.host), row.r)
	}
	for _, row := range rows {
		holds(t, s, HTTPS(row.host), row.r)
	}
}

// distinct saves a record of its own for origins that differ in one part, or in
// where one part ends and the next begins, and for hosts with octets that no
// name has: a tier must not rely on what origin.Parse lets through.
func distinct(t *testing.T, s fetch.Store) {
	origins := []origin.Origin{
		{Scheme: "https", Host: "a.example", Port: "443"},
		{Scheme: "http", Host: "a.example", Port: "443"},
		{Scheme: "http", Host: "a.example", Port: "80"},
		{Scheme: "https", Host: "a.example", Port: "80"},
		{Scheme: "https", Host: "a.example", Port: "4433"},
		{Scheme: "https", Host: "a.example", Port: "44"},
		{Scheme: "https", Host: "a.example.", Port: "443"},
		{Scheme: "https", Host: "A.example", Port: "443"},
		{Scheme: "https", Host: "a.example:443", Port: ""},
		{Scheme: "https", Host: "", Port: "443"},
		{Scheme: "https", Host: "::1", Port: "443"},
		{Scheme: "https", Host: "[::1]", Port: "443"},
		{Scheme: "https", Host: "::", Port: "1443"},
		{Scheme: "https", Host: "::1443", Port: ""},
	}
	for _, octet := range []string{"\x00", "\x01", "\x00\x01", "\x00\xff", "\xff", " ", "/", ":", "*", "?", "\n", "%00", "\u00fc", "\xc3", "|", "\x1b"} {
		origins = append(origins,
			HTTPS(octet), HTTPS("a"+octet), HTTPS(octet+"a"), HTTPS("a"+octet+"b"), HTTPS("a"+octet+octet+"b"),
			origin.Origin{Scheme: "https" + octet, Host: "a", Port: "443"},
			origin.Origin{Scheme: "https", Host: "a", Port: octet + "443"},
		)
	}
	want := map[origin.Origin]fetch.Record{}
	for i, o := range origins {
		r := Successful(fmt.Sprintf("Disallow: /%d\n", i))
		r.Attempts = i
		want[o] = r
		s.Save(o, r)
	}
	if len(want) != len(origins) {
		t.Fatalf("%d of %d origins differ: the rows of this test do not", len(want), len(origins))
	}
	for o, r := range want {
		holds(t, s, o, r)
	}
	if err := s.Forget(t.Context(), origins[0]); err != nil {
		t.Fatal(err)
	}
	lacks(t, s, origins[0])
	for _, o := range origins[1:] {
		holds(t, s, o, want[o])
	}
}

func lastWins(t *testing.T, s fetch.Store) {
	o := HTTPS("a.example")
	var r fetch.Record
	for i := range 100 {
		r = Successful(fmt.Sprintf("Disallow: /%d\n", i))
		s.Save(o, r)
		if i%10 == 0 {
			holds(t, s, o, r)
		}
	}
	holds(t, s, o, r)
	gone := fetch.Record{Access: policy.Unavailable, Status: 404, Checked: r.Checked}
	s.Save(o, gone)
	holds(t, s, o, gone)
}

func sharedBodies(t *testing.T, s fetch.Store) {
	r := Successful("Disallow: /shared\n")
	for i := range 50 {
		s.Save(HTTPS(fmt.Sprintf("h%d.example", i)), r)
	}
	for i := range 49 {
		if err := s.Forget(t.Context(), HTTPS(fmt.Sprintf("h%d.example", i))); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, s, HTTPS("h49.example"), r)
}

func keptBody(t *testing.T, s fetch.Store) {
	o := HTTPS("a.example")
	r := Successful("Disallow: /kept\n")
	s.Save(o, r)
	for i := range 3 {
		confirmed := r
		confirmed.Body, confirmed.Status, confirmed.Attempts = nil, 304, i
		s.Save(o, confirmed)
		confirmed.Body = r.Body
		holds(t, s, o, confirmed)
	}
}

func missingBody(t *testing.T, s fetch.Store) {
	o := HTTPS("a.example")
	old := Successful("Disallow: /old\n")
	s.Save(o, old)
	r := Successful("Disallow: /never-saved\n")
	r.Body = nil
	s.Save(o, r)
	if got, ok, _ := s.Load(t.Context(), o); ok {
		t.Errorf("%q: %+v: neither the old record nor one without its body may be found", o, got)
	}
}

func forget(t *testing.T, s fetch.Store) {
	o, r := HTTPS("a.example"), Successful("Disallow: /x\n")
	s.Save(o, r)
	if err := s.Forget(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	lacks(t, s, o)
	if err := s.Forget(t.Context(), o); err != nil {
		t.Errorf("forgetting what is not kept: %v", err)
	}
	lacks(t, s, o)
}

func saveAfterForget(t *testing.T, s fetch.Store) {
	o := HTTPS("a.example")
	for i := range 5 {
		r := Successful(fmt.Sprintf("Disallow: /%d\n", i))
		s.Save(o, r)
		if err := s.Forget(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		s.Save(o, r)
		holds(t, s, o, r)
	}
}

// independence changes what Load returned: the tier's own is not that.
func independence(t *testing.T, s fetch.Store) {
	o, r := HTTPS("a.example"), Successful("Disallow: /x\n")
	s.Save(o, r)
	got, _, err := s.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	got.Attempts, got.Hops, got.Body = 99, nil, nil
	holds(t, s, o, r)
}

func concurrency(t *testing.T, s fetch.Store) {
	const origins, rounds = 16, 60
	var all sync.WaitGroup
	for n := range origins {
		own := HTTPS(fmt.Sprintf("own%d.example", n))
		all.Go(func() {
			for i := range rounds {
				r := Successful(fmt.Sprintf("Disallow: /%d/%d\n", n, i))
				s.Save(own, r)
				s.Save(HTTPS("all.example"), r)
				if got, ok, err := s.Load(context.Background(), own); err != nil || !ok || Equal(got, r) != "" {
					t.Errorf("%q: %v, %v: %s", own, ok, err, Equal(got, r))
				}
				if got, ok, err := s.Load(context.Background(), HTTPS("all.example")); err != nil || ok && sha256.Sum256(got.Body) != got.Sum {
					t.Errorf("all.example: %v, or a body that is not its own", err)
				}
				if i%20 == 19 {
					if err := s.Forget(context.Background(), own); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

func givenUp(t *testing.T, s fetch.Store) {
	o, r := HTTPS("a.example"), Successful("Disallow: /x\n")
	s.Save(o, r)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, ok, err := s.Load(ctx, o); err == nil && (!ok || Equal(got, r) != "") {
		t.Errorf("Load of a context that is over: %+v, %v without an error", got, ok)
	}
	_ = s.Forget(ctx, o) // it may be done or not
	s.Save(o, r)
	holds(t, s, o, r)
}
