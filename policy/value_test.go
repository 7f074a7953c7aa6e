package policy_test

import (
	"strings"
	"testing"
	"time"

	"heed/policy"
)

func TestCrawlDelayIsSeconds(t *testing.T) {
	for _, c := range []struct {
		value, reason string
		want          time.Duration
		fault         string // part of the error, "" for none
	}{
		{"10", "whole seconds are the common form", 10 * time.Second, ""},
		{"0", "no pause is a pause", 0, ""},
		{"0.5", "Yandex has fractions", 500 * time.Millisecond, ""},
		{".25", "the zero may be left out", 250 * time.Millisecond, ""},
		{"3.", "and so may the fraction", 3 * time.Second, ""},
		{"0.0001", "hardly a pause is one", 100 * time.Microsecond, ""},
		{"0.29", "what is not the nearest of binary fractions", 290 * time.Millisecond, ""},
		{"1.1234567899", "nanoseconds are the finest", 1_123_456_789, ""},
		{"86401", "more than a day is what it says, for a Pace to cut", 86401 * time.Second, ""},
		{"1000000000", "31 years too", 1_000_000_000 * time.Second, ""},
		{strings.Repeat("9", 400), "beyond any number is the most there is", 9_223_372_035 * time.Second, ""},
		{"9223372036", "as is the last second of a Duration, so that a fraction has room", 9_223_372_035 * time.Second, ""},
		{"", "nothing is no number", 0, "no number"},
		{".", "a dot alone neither", 0, "no number"},
		{"-1", "time does not run back", 0, "no number"},
		{"+1", "a sign is no digit", 0, "no number"},
		{"1e9", "nor is an exponent", 0, "no number"},
		{"abc", "words", 0, "no number"},
		{"5 seconds", "words about a number", 0, "no number"},
		{"0x10", "nor hexadecimal", 0, "no number"},
		{"1_0", "nor what Go reads as one", 0, "no number"},
		{"10s", "the unit is seconds and not written", 0, "no number"},
		{"1,5", "the comma is not the RFC's, nor Yandex's", 0, "no number"},
		{"1.2.3", "two dots", 0, "no number"},
		{"NaN", "what ParseFloat would take", 0, "no number"},
		{"Inf", "what ParseFloat would take", 0, "no number"},
	} {
		got, err := policy.ParseCrawlDelay(c.value)
		if got != c.want || !isFault(err, c.fault) {
			t.Errorf("%.20q (%s): %v, %v; want %v, %q", c.value, c.reason, got, err, c.want, c.fault)
		}
	}
}

func TestRequestRateIsRequestsATime(t *testing.T) {
	afternoon := policy.Hours{From: 13 * time.Hour, To: 16*time.Hour + 59*time.Minute}
	for _, c := range []struct {
		value, reason string
		want          policy.Rate
		fault         string
	}{
		{"1/5", "seconds if there is no unit", policy.Rate{Requests: 1, Per: 5 * time.Second}, ""},
		{"1/5s", "seconds with one", policy.Rate{Requests: 1, Per: 5 * time.Second}, ""},
		{"1/10m", "minutes", policy.Rate{Requests: 1, Per: 10 * time.Minute}, ""},
		{"100/24H", "hours, the case aside", policy.Rate{Requests: 100, Per: 24 * time.Hour}, ""},
		{"1/10m 1300-1659", "for some hours", policy.Rate{Requests: 1, Per: 10 * time.Minute, Window: afternoon}, ""},
		{"1/10m\t 1300-1659", "any blanks divide", policy.Rate{Requests: 1, Per: 10 * time.Minute, Window: afternoon}, ""},
		{"100/854000", "ten days, found in the wild", policy.Rate{Requests: 100, Per: 854_000 * time.Second}, ""},
		{"1/25h", "more than a day, for a Pace to cut", policy.Rate{Requests: 1, Per: 25 * time.Hour}, ""},
		{"1/9999999999999999999h", "beyond any number is the most there is", policy.Rate{Requests: 1, Per: 2_562_046 * time.Hour}, ""},
		{"0/5", "no requests at all are a Disallow", policy.Rate{}, "no rate"},
		{"0/0", "nothing in no time", policy.Rate{}, "no rate"},
		{"1/0", "no time at all is no rate", policy.Rate{}, "a second or more"},
		{"1", "the time is missing", policy.Rate{}, "no rate"},
		{"/5", "the requests are missing", policy.Rate{}, "no rate"},
		{"-1/5", "a sign", policy.Rate{}, "no rate"},
		{"1/-5", "a sign", policy.Rate{}, "a second or more"},
		{"1/m", "a unit alone", policy.Rate{}, "a second or more"},
		{"1/", "nothing after it", policy.Rate{}, "a second or more"},
		{"1/5d", "days are not among the units", policy.Rate{}, "a second or more"},
		{"9999999999999999999/5", "beyond any number", policy.Rate{}, "no rate"},
		{"1/5 1300", "half a window", policy.Rate{}, "no time of day"},
		{"", "nothing", policy.Rate{}, "no rate"},
	} {
		got, err := policy.ParseRequestRate(c.value)
		if got != c.want || !isFault(err, c.fault) {
			t.Errorf("%q (%s): %+v, %v; want %+v, %q", c.value, c.reason, got, err, c.want, c.fault)
		}
	}
}

func TestVisitTimeIsHoursOfTheDay(t *testing.T) {
	for _, c := range []struct {
		value, reason string
		want          policy.Hours
		fault         string
	}{
		{"0600-0845", "the form of the document", policy.Hours{From: 6 * time.Hour, To: 8*time.Hour + 45*time.Minute}, ""},
		{"2200-0559", "over midnight", policy.Hours{From: 22 * time.Hour, To: 5*time.Hour + 59*time.Minute}, ""},
		{"0600 - 0845", "blanks about the line", policy.Hours{From: 6 * time.Hour, To: 8*time.Hour + 45*time.Minute}, ""},
		{"0000-2359", "the whole day", policy.Hours{To: 23*time.Hour + 59*time.Minute}, ""},
		{"0000-0000", "from and to alike are the whole day", policy.Hours{}, ""},
		{"2500-9999", "there are no such hours", policy.Hours{}, "no time from 0000"},
		{"0600-2400", "there is no such hour", policy.Hours{}, "no time from 0000"},
		{"0660-0700", "there is no such minute", policy.Hours{}, "no time from 0000"},
		{"600-845", "digits are missing", policy.Hours{}, "four digits"},
		{"06:00-08:45", "colons are not in it", policy.Hours{}, "four digits"},
		{"0600", "half of it", policy.Hours{}, "no '-'"},
		{"0600-0845-0900", "too much of it", policy.Hours{}, "four digits"},
		{"", "nothing", policy.Hours{}, "no '-'"},
	} {
		got, err := policy.ParseVisitTime(c.value)
		if got != c.want || !isFault(err, c.fault) {
			t.Errorf("%q (%s): %+v, %v; want %+v, %q", c.value, c.reason, got, err, c.want, c.fault)
		}
	}
}

func TestARateSpacesItsRequestsEvenly(t *testing.T) {
	for _, c := range []struct {
		value, reason string
		want          time.Duration
	}{
		{"1/5", "one at a time", 5 * time.Second},
		{"100/24h", "spread over the day", 864 * time.Second},
		{"3/1", "rounded up, or the fourth would come too early", 333_333_334},
		{"1000000/1", "as many as are read", time.Microsecond},
	} {
		if r, err := policy.ParseRequestRate(c.value); err != nil || r.Interval() != c.want {
			t.Errorf("%q (%s): %v, %v; want %v", c.value, c.reason, r.Interval(), err, c.want)
		}
	}
}

func TestVisitTimeContainsItsLastMinute(t *testing.T) {
	day := policy.Hours{From: 6 * time.Hour, To: 8 * time.Hour}
	night := policy.Hours{From: 22 * time.Hour, To: 6 * time.Hour}
	for _, c := range []struct {
		window policy.Hours
		at     time.Duration
		want   bool
		reason string
	}{
		{day, 6 * time.Hour, true, "it begins with From"},
		{day, 6*time.Hour - 1, false, "and not before"},
		{day, 8*time.Hour + 59*time.Second, true, "the minute of To belongs to it"},
		{day, 8*time.Hour + time.Minute, false, "the next does not"},
		{night, 23 * time.Hour, true, "before midnight"},
		{night, 0, true, "at midnight"},
		{night, 6 * time.Hour, true, "up to To"},
		{night, 7 * time.Hour, false, "then it is day"},
		{policy.Hours{}, 13 * time.Hour, true, "the zero Hours is always"},
	} {
		if got := c.window.Contains(c.at); got != c.want {
			t.Errorf("%v contains %v: %t, want %t: %s", c.window, c.at, got, c.want, c.reason)
		}
	}
}

func TestTokenIsWhatTheDialectCompares(t *testing.T) {
	for _, c := range []struct{ value, heed, google, rerp string }{
		{"ExampleBot/2.1", "ExampleBot", "ExampleBot", "ExampleBot/2.1"},
		{"MJ12bot", "MJ12bot", "MJ", "MJ12bot"},
		{"* (all)", "*", "*", "* (all)"},
		{"*Bot", "", "", "*Bot"},
		{"", "", "", ""},
	} {
		value := []byte(c.value)
		heed, google, rerp := policy.RFC9309.Token(value), policy.Google.Token(value), policy.RERP.Token(value)
		if string(heed) != c.heed || string(google) != c.google || string(rerp) != c.rerp {
			t.Errorf("%q: rfc9309 %q, google %q, rerp %q; want %q, %q, %q", c.value, heed, google, rerp, c.heed, c.google, c.rerp)
		}
	}
}

func isFault(err error, part string) bool {
	if part == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), part)
}

// FuzzValues looks for a panic, and for a value beyond its bounds.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{"10", "0.5", "1/10m 1300-1659", "2200-0559", "1/5", "-", "/", "."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		const day = 24 * time.Hour
		if d, err := policy.ParseCrawlDelay(value); d < 0 || err != nil && d != 0 {
			t.Errorf("Crawl-delay %q: %v, %v", value, d, err)
		}
		if r, err := policy.ParseRequestRate(value); err == nil && (r.Requests < 1 || r.Per < time.Second || r.Interval() < time.Microsecond) {
			t.Errorf("Request-rate %q: %+v", value, r)
		}
		v, err := policy.ParseVisitTime(value)
		if v.From < 0 || v.To < 0 || v.From >= day || v.To >= day {
			t.Errorf("Visit-time %q: %+v, %v", value, v, err)
		}
	})
}
