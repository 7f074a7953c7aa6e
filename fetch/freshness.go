package fetch

import (
	"net/http"
	"strings"
	"time"
)

// maxFreshness is as long as a freshness lifetime needs to be told: what counts
// is cut to far less.
const maxFreshness = 366 * 24 * time.Hour

// freshnessOf returns for how long an answer that came at now may be used, as
// its fields tell (RFC 9111 §4.2), and whether they tell anything. That is
// nothing at all for what may not be stored, or not be used unasked.
//
// heed asks for many clients, and counts as a shared cache: s-maxage goes before
// max-age. Of private it takes no notice, since robots.txt is obtained for nobody
// in particular; and of the age it takes what Age says, not what the origin's
// clock does.
func freshnessOf(h http.Header, now time.Time) (left time.Duration, told bool) {
	c := cacheControlOf(h)
	switch {
	case c.unusable:
		return 0, true
	case c.told:
		left = c.maxAge
	case len(h.Values("Expires")) > 0:
		left = expiry(h, now)
	default:
		return 0, false
	}
	return max(left-age(h), 0), true
}

// expiry is how long after the answer's Date it expires. What is no date has
// expired (RFC 9111 §5.3).
func expiry(h http.Header, now time.Time) time.Duration {
	at, err := http.ParseTime(h.Get("Expires"))
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxFreshness)
}

// age is how long the answer has been in caches (RFC 9111 §5.1).
func age(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Age"))
	if v == "" || strings.Trim(v, "0123456789") != "" {
		return 0
	}
	return seconds(v, maxFreshness)
}

// cacheControl is what counts of the Cache-Control field (RFC 9111 §5.2.2).
type cacheControl struct {
	unusable bool          // no-store or no-cache
	told     bool          // there is a lifetime
	maxAge   time.Duration // of s-maxage, else of max-age
	shared   bool          // it is that of s-maxage
}

func cacheControlOf(h http.Header) (c cacheControl) {
	for _, field := range h.Values("Cache-Control") {
		for field != "" {
			var name, value string
			name, value, field = nextDirective(field)
			c.take(strings.ToLower(name), value)
		}
	}
	return c
}

// take reads a directive. A lifetime that cannot be read is over, and of
// several the least counts (RFC 9111 §4.2.1).
func (c *cacheControl) take(name, value string) {
	shared := name == "s-maxage"
	switch {
	case name == "no-store", name == "no-cache":
		c.unusable = true
		return
	case !shared && name != "max-age":
		return
	case c.shared && !shared:
		return
	}
	var d time.Duration
	if value != "" && strings.Trim(value, "0123456789") == "" {
		d = seconds(value, maxFreshness)
	}
	if c.told && c.shared == shared {
		d = min(d, c.maxAge)
	}
	c.told, c.shared, c.maxAge = true, shared, d
}

// nextDirective cuts the first directive off a list: a token, and what it is
// set to, with or without quotes.
func nextDirective(list string) (name, value, rest string) {
	end := strings.IndexAny(list, `,"`)
	for end >= 0 && list[end] == '"' { // a comma in quotes ends nothing
		closing := strings.IndexByte(list[end+1:], '"')
		if closing < 0 {
			end = -1
			break
		}
		next := strings.IndexAny(list[end+closing+2:], `,"`)
		if next < 0 {
			end = -1
			break
		}
		end += closing + 2 + next
	}
	if end < 0 {
		end, rest = len(list), ""
	} else {
		rest = list[end+1:]
	}
	name, value, _ = strings.Cut(list[:end], "=")
	return strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"`), rest
}

// seconds reads decimal digits, of which there may be any number.
func seconds(digits string, most time.Duration) time.Duration {
	var d time.Duration
	for i := range len(digits) {
		d = d*10 + time.Duration(digits[i]-'0')*time.Second
		if d > most {
			return most
		}
	}
	return d
}
