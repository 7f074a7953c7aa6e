package policy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// NormalPattern returns the value of an Allow or a Disallow line as the default
// dialect compares it (RFC 9309 §2.2.2): escapes of unreserved octets decoded,
// the digits of other escapes in upper case, every octet that is neither
// unreserved nor reserved escaped, a '$' that is not last written "%24".
func NormalPattern(value []byte) []byte { return appendNormal(nil, value, ofPattern) }

// Token returns what the dialect compares of the value of a user-agent line,
// such as "ExampleBot" of "ExampleBot/2.1" or "*" of "* (all)". It is part of
// value, and empty if there is nothing in it that could name a crawler.
func (d Dialect) Token(value []byte) []byte { return d.nameOf(value) }

// LongestInterval is the most that a Pace has between two requests. What a site
// asks for beyond it is taken for this: it wants hardly any requests, which says
// more than nothing, and a number can be written that no crawl lives to see.
const LongestInterval = 24 * time.Hour

// maxRequests is the most requests of a Rate, far more than anyone makes.
const maxRequests = 1_000_000

const day = 24 * time.Hour

// ParseCrawlDelay reads the value of a Crawl-delay record: the least time
// between two requests in seconds, such as "10" or "0.5". There is no standard
// for it; Yandex's documentation is where fractions come from. What is more than
// a Duration holds, 292 years, is taken for that.
//
// Digits and one dot are all that is read. Signs, exponents, units and commas
// ("-1", "1e9", "10s", "0,5") are an error, and such a record decides nothing:
// what was meant would have to be guessed, and none of the 1,217 such records in
// 4,021 real files has any of them.
func ParseCrawlDelay(value string) (time.Duration, error) {
	whole, fraction, _ := strings.Cut(value, ".")
	if len(whole)+len(fraction) == 0 || !allDigits(whole) || !allDigits(fraction) {
		return 0, fmt.Errorf("%s is no number of seconds, such as 10 or 0.5", quoted(value))
	}
	delay := times(whole, time.Second)
	for unit := time.Second / 10; unit > 0 && fraction != ""; unit /= 10 {
		delay += time.Duration(fraction[0]-'0') * unit
		fraction = fraction[1:]
	}
	return delay, nil
}

// times returns digits, a number, times unit; the most that leaves room for
// another unit if that is too much for a Duration.
func times(digits string, unit time.Duration) time.Duration {
	most := math.MaxInt64/unit - 1
	var n time.Duration
	for i := range len(digits) {
		digit := time.Duration(digits[i] - '0')
		if n > (most-digit)/10 {
			return most * unit
		}
		n = 10*n + digit
	}
	return n * unit
}

// Rate is how many requests may be made in how much time.
type Rate struct {
	Requests int           // at least 1
	Per      time.Duration // at least a second
	Window   Hours         // when it holds; the zero Hours is always
}

// Interval is the time between two requests that are spaced evenly, rounded up.
func (r Rate) Interval() time.Duration {
	n := time.Duration(r.Requests)
	interval := r.Per / n
	if r.Per%n > 0 {
		interval++
	}
	return interval
}

// ParseRequestRate reads the value of a Request-rate record: requests, '/',
// time, and at will the hours for which it is meant, such as "1/5", "100/24h" or
// "1/10m 1300-1659". The unit of the time is s, m or h, seconds if there is
// none; as with ParseCrawlDelay there is a most. It comes from S. Conner's "An
// Extended Standard for Robot Exclusion" of 1996, and Python's
// urllib.robotparser reads its first form.
func ParseRequestRate(value string) (Rate, error) {
	rate, window := value, ""
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		rate, window = value[:i], strings.Trim(value[i:], " \t")
	}
	requests, per, found := strings.Cut(rate, "/")
	n, err := strconv.Atoi(requests)
	if !found || !allDigits(requests) || err != nil || n < 1 || n > maxRequests {
		return Rate{}, fmt.Errorf("%s is no rate, which is requests a time such as 1/5 or 100/24h", quoted(value))
	}
	r := Rate{Requests: n}
	if r.Per, err = parsePeriod(per); err != nil {
		return Rate{}, fmt.Errorf("in %s: %w", quoted(value), err)
	}
	if window != "" {
		if r.Window, err = ParseVisitTime(window); err != nil {
			return Rate{}, fmt.Errorf("in %s: %w", quoted(value), err)
		}
	}
	return r, nil
}

// parsePeriod reads a number of seconds, or with a unit behind it of minutes or
// hours.
func parsePeriod(text string) (time.Duration, error) {
	number, unit := text, time.Second
	if n := len(text); n > 0 {
		switch lower(text[n-1]) {
		case 's':
			number = text[:n-1]
		case 'm':
			number, unit = text[:n-1], time.Minute
		case 'h':
			number, unit = text[:n-1], time.Hour
		}
	}
	if !allDigits(number) || times(number, unit) == 0 {
		return 0, fmt.Errorf("the time %s is none of a second or more, such as 5, 10m or 24h", quoted(text))
	}
	return times(number, unit), nil
}

// Hours are a part of every day, in UTC. From and To are times since
// midnight, of whole minutes and less than a day. The minute of To belongs to
// it, unless both are equal, as in the zero value: that is the whole day. If To
// is before From it goes on over midnight.
type Hours struct{ From, To time.Duration }

// ParseVisitTime reads the value of a Visit-time record: from and to, each as
// hours and minutes in UTC, such as "0600-0845" or, over midnight, "2200-0559".
// It comes from S. Conner's "An Extended Standard for Robot Exclusion" of 1996.
func ParseVisitTime(value string) (Hours, error) {
	from, to, found := strings.Cut(value, "-")
	var v Hours
	err := errors.New("there is no '-'")
	if found {
		if v.From, err = parseClock(strings.TrimRight(from, " \t")); err == nil {
			v.To, err = parseClock(strings.TrimLeft(to, " \t"))
		}
	}
	if err != nil {
		return Hours{}, fmt.Errorf("%s is no time of day such as 0600-0845: %w", quoted(value), err)
	}
	return v, nil
}

// Contains tells whether a time since midnight UTC is in v.
func (v Hours) Contains(sinceMidnight time.Duration) bool {
	end := v.To + time.Minute
	switch {
	case v.From == v.To:
		return true
	case v.From < v.To:
		return v.From <= sinceMidnight && sinceMidnight < end
	}
	return v.From <= sinceMidnight || sinceMidnight < end
}

func parseClock(text string) (time.Duration, error) {
	if len(text) != len("hhmm") || !allDigits(text) {
		return 0, fmt.Errorf("%s is not of four digits", quoted(text))
	}
	hours := int(text[0]-'0')*10 + int(text[1]-'0')
	minutes := int(text[2]-'0')*10 + int(text[3]-'0')
	if hours > 23 || minutes > 59 {
		return 0, fmt.Errorf("%s is no time from 0000 to 2359", quoted(text))
	}
	return time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute, nil
}

func allDigits(text string) bool {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return false
		}
	}
	return true
}

// quoted returns the start of a value as Go quotes it, for an error.
func quoted(value string) string {
	const most = 40
	if len(value) > most {
		return strconv.Quote(value[:most]) + "…"
	}
	return strconv.Quote(value)
}
