package config

import (
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time that is written with its unit: "10s", "720h",
// "1h30m". It is never negative.
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration reads, save negative lengths and
// a number without a unit other than 0.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 || text[0] == '+' {
		return fault("is not a length of time; write for example 10s, 5m or 24h")
	}
	*d = Duration(parsed)
	return nil
}

// String returns the shortest form that UnmarshalText reads: "24h", not
// "24h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText returns String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Size is a number of octets that is written with its unit: "500KiB", "64MiB".
// It is never negative.
type Size int64

// units of a Size, the largest first.
var units = []struct {
	name   string
	octets int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText reads a whole number followed by B, KiB, MiB or GiB.
func (s *Size) UnmarshalText(text []byte) error {
	const wrong = fault("is not a size; write for example 500KiB or 64MiB")
	for _, unit := range units {
		digits, found := strings.CutSuffix(string(text), unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil || int64(n) > (1<<63-1)/unit.octets {
			return wrong
		}
		*s = Size(int64(n) * unit.octets)
		return nil
	}
	return wrong
}

// String returns the form with the largest unit that leaves no rest.
func (s Size) String() string {
	for _, unit := range units {
		if s != 0 && int64(s)%unit.octets == 0 {
			return strconv.FormatInt(int64(s)/unit.octets, 10) + unit.name
		}
	}
	return "0B"
}

// MarshalText returns String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
