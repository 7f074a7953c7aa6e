// Package retryafter reads the field Retry-After (RFC 9110 §10.2.3), by which
// an origin says for how long it wants to be left alone.
package retryafter

import (
	"net/http"
	"strings"
	"time"
)

// Most is the longest time that is believed. An origin that wants to be left
// alone for ten years has most likely made a mistake; it can say so again
// tomorrow.
const Most = 24 * time.Hour

// Of returns the time that an answer asks for, received at now: seconds, or a
// date, which is taken relative to the answer's own Date where it has one, since
// clocks differ. At most Most; 0 when there is none, when it is over, or when it
// cannot be read.
func Of(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		return seconds(v)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), Most)
}

// seconds is what digits say, however many there are.
func seconds(digits string) time.Duration {
	const most = int(Most / time.Second)
	n := 0
	for i := range len(digits) {
		if n = 10*n + int(digits[i]-'0'); n >= most {
			return Most
		}
	}
	return time.Duration(n) * time.Second
}
