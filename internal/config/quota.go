package config

import "fmt"

// Quota is what a client may use; 0 is no bound.
type Quota struct {
	RequestsPerMinute int  `yaml:"requests_per_minute,omitempty"` // in any 60 seconds
	RequestsPerDay    int  `yaml:"requests_per_day,omitempty"`    // in a day of the calendar, in UTC
	BytesPerDay       Size `yaml:"bytes_per_day,omitempty"`       // of bodies, both ways together
}

const (
	mostPerMinute = 1_000_000     // each takes 8 octets of memory for a minute
	mostPerDay    = 1_000_000_000 //
	mostBytes     = Size(1 << 49) // what RateLimit fields have room for: 15 digits
)

func (r *reader) quota(q Quota, key string) {
	r.count(key+".requests_per_minute", q.RequestsPerMinute, 0, mostPerMinute)
	r.count(key+".requests_per_day", q.RequestsPerDay, 0, mostPerDay)
	if q.BytesPerDay > mostBytes {
		r.blame(key+".bytes_per_day", q.BytesPerDay.String(), fault(fmt.Sprintf("is more than %s; leave the key out for no bound", mostBytes)))
	}
}
