package app

import (
	"strings"
	"testing"

	"heed/internal/config"
	"heed/internal/origin"
)

// TestWhichModeCounts: the whole table of what is said of all, of the origin and
// of the client.
func TestWhichModeCounts(t *testing.T) {
	const none, e, r = "", config.Enforce, config.Report
	for _, tt := range []struct {
		all, origin, client string
		want                bool
		why                 string
	}{
		{e, none, none, false, "the mode of all"},
		{r, none, none, true, "the mode of all"},
		{e, none, e, false, "the client's, which is the same"},
		{e, none, r, true, "the client's goes before that of all"},
		{r, none, e, false, "the client's goes before that of all"},
		{r, none, r, true, "the client's, which is the same"},
		{e, e, none, false, "the origin's, which is the same"},
		{e, r, none, true, "the origin's goes before that of all"},
		{r, e, none, false, "the origin's goes before that of all"},
		{r, r, none, true, "the origin's, which is the same"},
		{e, e, e, false, "all say it"},
		{e, e, r, false, "they differ: enforce"},
		{e, r, e, false, "they differ: enforce"},
		{e, r, r, true, "both say it"},
		{r, e, e, false, "both say it"},
		{r, e, r, false, "they differ: enforce"},
		{r, r, e, false, "they differ: enforce"},
		{r, r, r, true, "all say it"},
		{none, none, none, false, "nothing is said: a guard denies"},
		{r, "else", none, false, "a mode that nobody knows is not report"},
		{r, none, "else", false, "a mode that nobody knows is not report"},
		{r, r, "else", false, "a mode that nobody knows is not report"},
	} {
		c := config.Config{Mode: tt.all}
		if tt.origin != none {
			c.Modes = []config.OriginMode{{Host: "a.example", Mode: tt.origin}}
		}
		m, err := NewModes(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Reports(origin.Origin{Scheme: "https", Host: "a.example", Port: "443"}, tt.client); got != tt.want {
			t.Errorf("mode %q, of the origin %q, of the client %q: reports %v; %s", tt.all, tt.origin, tt.client, got, tt.why)
		}
	}
}

func TestTheClosestModeOfAnOriginCounts(t *testing.T) {
	m, err := NewModes(config.Config{Mode: config.Enforce, Modes: []config.OriginMode{
		{Host: "*.example", Mode: config.Report},
		{Host: "a.example", Mode: config.Enforce},
		{Origin: "http://a.example:8080", Mode: config.Report},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{"http://a.example:8080": true, "http://a.example": false, "https://b.a.example": true, "https://a.test": false} {
		o, err := config.Origin(url).Parse()
		if err != nil {
			t.Fatal(err)
		}
		if m.Reports(o, "") != want {
			t.Errorf("%s: reports %v", url, !want)
		}
	}
}

func TestModesThatWereNotCheckedAreRefused(t *testing.T) {
	same := config.OriginMode{Host: "a.example", Mode: config.Report}
	for want, modes := range map[string][]config.OriginMode{
		"modes[1]: there is another":     {same, same},
		"modes[0]: reading the origin: ": {{Origin: "a.example", Mode: config.Report}},
		"modes[0]: applies to an origin": {{Mode: config.Report}},
	} {
		if _, err := NewModes(config.Config{Modes: modes}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReportModeIsTold(t *testing.T) {
	report, enforce := config.OriginMode{Mode: config.Report}, config.OriginMode{Mode: config.Enforce}
	reported, enforced, none := config.Client{Mode: config.Report}, config.Client{Mode: config.Enforce}, config.Client{}
	for _, tt := range []struct {
		mode    string
		modes   []config.OriginMode
		clients []config.Client
		want    string
	}{
		{config.Enforce, nil, nil, ""},
		{config.Enforce, []config.OriginMode{enforce}, []config.Client{enforced, none}, ""},
		{config.Report, nil, []config.Client{reported, none}, "what robots.txt forbids is forwarded, and marked."},
		{config.Report, []config.OriginMode{report, enforce, enforce}, nil, "what robots.txt forbids is forwarded, and marked, but for 2 entries of modes."},
		{config.Report, []config.OriginMode{enforce}, []config.Client{enforced}, "what robots.txt forbids is forwarded, and marked, but for one entry of modes and one client."},
		{config.Enforce, []config.OriginMode{report, enforce}, nil, "for one entry of modes what robots.txt forbids is forwarded, and marked."},
		{config.Enforce, nil, []config.Client{reported, enforced, reported}, "for 2 clients what robots.txt forbids is forwarded, and marked."},
	} {
		if got := ReportNote(config.Config{Mode: tt.mode, Modes: tt.modes, Clients: config.Clients{Named: tt.clients}}); got != tt.want {
			t.Errorf("%s, %v, %v: %q, want %q", tt.mode, tt.modes, tt.clients, got, tt.want)
		}
	}
}
