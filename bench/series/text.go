package series

import (
	"fmt"
	"math"
)

// String writes "median (least–most)", or the median alone if all is one.
func (s Series) String() string {
	median, least, most := Number(s.Median), Number(s.Least), Number(s.Most)
	if least == most {
		return median
	}
	return fmt.Sprintf("%s (%s–%s)", median, least, most)
}

// Number writes three digits, or all that are before the point.
func Number(v float64) string {
	switch size := math.Abs(v); {
	case size == 0:
		return "0"
	case size >= 99.95:
		return Whole(int(math.Round(v)))
	case size >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case size >= 0.01:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1g", v)
}

// Whole writes 145956 as "145,956".
func Whole(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
