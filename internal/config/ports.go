package config

import (
	"strconv"
	"strings"
)

// Ports is a range of ports, both ends included. One port is a range whose
// ends are equal.
type Ports struct{ First, Last uint16 }

// Contains reports whether the range has the port.
func (p Ports) Contains(port uint16) bool { return p.First <= port && port <= p.Last }

// UnmarshalText reads "443" or "1024-65535".
func (p *Ports) UnmarshalText(text []byte) error {
	from, to, isRange := strings.Cut(string(text), "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.ParseUint(from, 10, 16)
	last, err2 := strconv.ParseUint(to, 10, 16)
	if err1 != nil || err2 != nil || first == 0 || first > last {
		return fault(`is not a port or a range of ports; write for example 443 or "1024-65535"`)
	}
	*p = Ports{uint16(first), uint16(last)}
	return nil
}

// String returns the form that UnmarshalText reads.
func (p Ports) String() string {
	first := strconv.Itoa(int(p.First))
	if p.First == p.Last {
		return first
	}
	return first + "-" + strconv.Itoa(int(p.Last))
}

// MarshalText returns String.
func (p Ports) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
