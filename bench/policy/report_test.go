package main

import (
	"strings"
	"testing"
)

func TestSeriesIsTheMedianAndTheEnds(t *testing.T) {
	for _, c := range []struct {
		values              []float64
		median, least, most float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{9, 1, 2}, 2, 1, 9},
		{[]float64{4, 1, 100, 2}, 3, 1, 100},
	} {
		s := seriesOf(c.values)
		if s.Median != c.median || s.Least != c.least || s.Most != c.most {
			t.Errorf("%v: got %+v", c.values, s)
		}
		if &s.Rounds[0] != &c.values[0] || s.Rounds[0] != c.values[0] {
			t.Errorf("%v: the order of the rounds is lost", c.values)
		}
	}
}

func TestConfidenceIsThatOfCoins(t *testing.T) {
	for rounds, want := range map[int]float64{2: 0.5, 5: 0.9375, 7: 0.984375} {
		if got := confidence(rounds); got != want {
			t.Errorf("%d rounds: got %v, want %v", rounds, got, want)
		}
	}
}

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

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.004: "0.004", 0.074: "0.07", 1.557: "1.56", 9.996: "10.0", 38.49: "38.5", 99.96: "100", 262: "262", 38335.2: "38,335", 1145956: "1,145,956",
	} {
		if got := number(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
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
