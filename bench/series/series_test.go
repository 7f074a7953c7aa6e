package series

import "testing"

func TestSeriesIsTheMedianAndTheEnds(t *testing.T) {
	for _, c := range []struct {
		values              []float64
		median, least, most float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{9, 1, 2}, 2, 1, 9},
		{[]float64{4, 1, 100, 2}, 3, 1, 100},
	} {
		s := Of(c.values)
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
		if got := Confidence(rounds); got != want {
			t.Errorf("%d rounds: got %v, want %v", rounds, got, want)
		}
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.004: "0.004", 0.074: "0.07", 1.557: "1.56", 9.996: "10.0", 38.49: "38.5", 99.96: "100", 262: "262", 38335.2: "38,335", 1145956: "1,145,956",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
