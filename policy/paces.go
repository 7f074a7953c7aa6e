package policy

import (
	"slices"
	"time"
)

// pace is a Crawl-delay, a Request-rate or a Visit-time that a group has and that
// could be read. Of those that ask for an interval at all hours a group has the
// longest alone. They are in the order of their groups.
type pace struct {
	every    time.Duration // between two requests, at most LongestInterval; 0 of a Visit-time
	record   uint32        // of Policy.records, which has key, line and group
	from, to uint16        // its Hours, in minutes
}

func (k Kind) isPace() bool { return k == CrawlDelay || k == RequestRate || k == VisitTime }

// parsePace reads the value of a record of such a kind.
func parsePace(k Kind, value string) (t pace, err error) {
	var hours Hours
	switch k {
	case CrawlDelay:
		t.every, err = ParseCrawlDelay(value)
	case RequestRate:
		var r Rate
		if r, err = ParseRequestRate(value); err == nil {
			t.every, hours = r.Interval(), r.Window
		}
	default:
		hours, err = ParseVisitTime(value)
	}
	t.every = min(t.every, LongestInterval)
	t.from, t.to = uint16(hours.From/time.Minute), uint16(hours.To/time.Minute)
	return t, err
}

func (t *pace) hours() Hours {
	return Hours{time.Duration(t.from) * time.Minute, time.Duration(t.to) * time.Minute}
}

// pace keeps what the last record asks for, if it can be read.
func (c *compiler) pace(value string) {
	p := c.policy
	at := uint32(len(p.records) - 1)
	t, err := parsePace(p.records[at].kind, value)
	if err != nil {
		return
	}
	t.record = at
	p.paces = append(p.paces, t)
	last := uint32(len(p.paces) - 1)
	switch {
	case p.hasHours(last):
	case c.interval == 0:
		c.interval = last + 1
	default:
		p.paces[c.interval-1] = p.paces[p.longer(c.interval, last+1)-1]
		p.paces = p.paces[:last]
	}
}

// hasHours tells whether it depends on the hour whether a pace asks for anything.
// A Visit-time of the whole day is one, since others of its group count beside it.
func (p *Policy) hasHours(i uint32) bool {
	t := &p.paces[i]
	return t.from != t.to || p.keyOf(i) == VisitTime
}

func (p *Policy) keyOf(i uint32) Kind { return p.records[p.paces[i].record].kind }

// longer returns which of two paces, given as 1 more than their places and 0 for
// none, has the longer interval; of equal ones the first of the file.
func (p *Policy) longer(a, b uint32) uint32 {
	if a == 0 {
		return b
	}
	x, y := &p.paces[a-1], &p.paces[b-1]
	if y.every > x.every || y.every == x.every && y.record < x.record {
		return b
	}
	return a
}

// pacesOf returns the paces of a group.
func (p *Policy) pacesOf(group uint32) span {
	from, found := slices.BinarySearchFunc(p.paces, group+1, func(t pace, group uint32) int {
		return int(p.records[t.record].group) - int(group)
	})
	if !found {
		return span{}
	}
	return p.pacesFrom(uint32(from))
}

// pacesFrom returns the paces from a place on that are of the same group; none at
// the end.
func (p *Policy) pacesFrom(from uint32) span {
	to := from
	for to < uint32(len(p.paces)) && p.records[p.paces[to].record].group == p.records[p.paces[from].record].group {
		to++
	}
	return span{from, to}
}
