package main

import (
	"strings"
	"testing"
)

// The median of ratios is not the ratio of medians, and is the one that counts.
func TestRatiosAreTakenRoundByRound(t *testing.T) {
	m := measure{name: "decide", set: "all", files: &corpus{}, participants: participants[:2]}
	rows := rowsOf(m, map[string][]sample{
		"heed":   {{"ns/query": 10, "allocs/query": 0}, {"ns/query": 20, "allocs/query": 0}, {"ns/query": 40, "allocs/query": 0}},
		"temoto": {{"ns/query": 300, "allocs/query": 1}, {"ns/query": 400, "allocs/query": 1}, {"ns/query": 200, "allocs/query": 1}},
	})
	if len(rows) != 2 || rows[0].Unit != "ns/query" || rows[1].Unit != "allocs/query" {
		t.Fatalf("got %+v", rows)
	}
	peer := rows[0].Figures[1]
	if peer.Value.Median != 300 || peer.Times == nil || peer.Times.Median != 20 || peer.Times.Least != 5 || peer.Times.Most != 30 {
		t.Errorf("got %+v, times heed %+v", peer.Value, peer.Times)
	}
	if rows[0].Figures[0].Times != nil {
		t.Error("heed is compared with itself")
	}
	if rows[1].Figures[1].Times != nil {
		t.Error("there is a ratio to nothing")
	}
}

func TestTheWholeRunOverMadeFiles(t *testing.T) {
	agreements, rows, err := examine(made(t, plain, ungrouped, plain), effort{rounds: 5, stride: 2})
	if err != nil {
		t.Fatal(err)
	}
	env := environmentNow("v1")
	env.Versions["temoto"] = "v2" // a test is not always told what it was built of
	c := comparison{Environment: env, Effort: effortOf(effort{rounds: 5, stride: 2}), Rows: rows, Agreements: agreements}
	page := c.markdown()
	for _, want := range []string{
		". heed v1, temoto v2, grobotstxt ", "Medians of 5 interleaved", "93.8 %",
		"| decide | all: 3 | ns/query |", "| decide | read by each: 2 | allocs/query |",
		"| compile | all: 3 | ns/octet |", "| parse and decide | read by each: 2 | ns/query |",
		"| memory | all: 3 | octets/octet |", "| memory | all: 3 | octets/octet, by Size |",
		"| heed | heed's reading | 6 | 0 | 0.00 % | 3 | 0 | 0.00 % |",
		"| heed, as Google | Google's parser | 6 | 6 | 100.00 % | 0 | 0 | 100.00 % |",
		"| temoto | Google's parser | 6 | 4 | 66.67 % | 0 | 1 | 100.00 % |",
		"| grobotstxt | Google's parser | 6 | 6 | 100.00 % | 0 | 0 | 100.00 % |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "%!") {
		t.Error("a verb of the page met the wrong value")
	}
	for line := range strings.Lines(page) {
		if cells := strings.Count(line, "|"); cells != 0 && cells != 9 {
			t.Errorf("a row of %d cells: %s", cells-1, line)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}
