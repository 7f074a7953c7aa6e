package pace

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// State is what goes on at hosts at a moment, as far as it can be told without
// stopping them: each host is looked at by itself.
type State struct {
	Known   int `json:"known"`   // hosts of which something is known
	Active  int `json:"active"`  // of which: where requests wait or are under way, or that are held
	Held    int `json:"held"`    // that said by 429 or 503 that they want to be left alone, and are
	Waiting int `json:"waiting"` // requests that wait, at all hosts

	// Hosts are those that are active, first where a request waits for the longest
	// time. Fewer than Active where there are more than were asked for.
	Hosts []Host `json:"hosts"`
}

// Host is how a host is at a moment. Times are rounded to the millisecond.
type Host struct {
	Host     string `json:"host"`
	UnderWay int    `json:"under_way"` // requests that went out, or may, and have not ended
	Waiting  int    `json:"waiting"`

	// Longest is for how long the one that waits for the longest time has waited.
	Longest Seconds `json:"longest_wait"`

	// Interval is what is in force for the one that goes next, or for one like the
	// last, where none waits. 0: none.
	Interval Seconds `json:"interval"`

	// Cause is why the next has to wait; where none waits, what makes the interval.
	// Empty where nothing does.
	Cause string `json:"cause,omitempty"`

	// Next is in how much time the next may go. 0 where none waits, or where it goes
	// when others end (Cause is "concurrency" or "address").
	Next Seconds `json:"next_in"`

	// Held is for how much longer nothing goes out to it, by the host's own word; the
	// longest time, where several ports said so. Told is that it named the time itself
	// (Retry-After).
	Held Seconds `json:"held_for"`
	Told bool    `json:"told,omitempty"`

	Penalty Seconds `json:"penalty"`       // interval since its last 429 or 503; 0: none
	Slow    Seconds `json:"slow_interval"` // interval since its answers are slow; 0: none

	// Clients are those whose requests wait, most first, mostClients of them at most.
	// Sharers is how many share the host's turns, with those who were told to come
	// back.
	Clients []Waiters `json:"clients,omitempty"`
	Sharers int       `json:"sharers"`
}

// Waiters are the requests of a client that wait.
type Waiters struct {
	Client  string `json:"client"` // its name, or its address
	Waiting int    `json:"waiting"`
}

// mostClients is how many clients of a host are named.
const mostClients = 8

// Seconds is a length of time that is a number of seconds in JSON, with three
// decimals at most.
type Seconds time.Duration

// MarshalJSON returns a number.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(s).Round(time.Millisecond).Milliseconds())/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads a number.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	*s = Seconds(f * float64(time.Second))
	return err
}

// String returns it as Go writes times: "1.2s".
func (s Seconds) String() string { return time.Duration(s).Round(time.Millisecond).String() }

// State tells of all hosts together, and of at most limit by themselves.
func (p *Pacer) State(limit int) State {
	now, all := p.now(), State{Hosts: []Host{}}
	p.hosts.Range(func(_ string, h *host) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.forgotten {
			return true
		}
		all.add(h, now, limit)
		return true
	})
	return all
}

// HostState tells of one host; false where nothing is known of it.
func (p *Pacer) HostState(name string) (Host, bool) {
	h, known := p.hosts.Load(name)
	if !known {
		return Host{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state(p.now()), !h.forgotten
}

// add counts a host, and keeps how it is if it is among the first so far.
func (s *State) add(h *host, now moment, limit int) {
	s.Known++
	waiting, until := len(h.queue.turns), h.words.last().until
	held := until > now
	if waiting == 0 && !held && h.underWay == 0 {
		return
	}
	s.Active++
	s.Waiting += waiting
	if held {
		s.Held++
	}
	one := Host{Host: h.name, UnderWay: h.underWay, Waiting: waiting, Longest: h.longestWait(now), Held: Seconds(max(until-now, 0))}
	at, _ := slices.BinarySearchFunc(s.Hosts, one, compareHosts)
	if at >= limit {
		return
	}
	if len(s.Hosts) >= limit {
		s.Hosts = s.Hosts[:limit-1]
	}
	s.Hosts = slices.Insert(s.Hosts, at, h.state(now))
}

// compareHosts puts first where a request waits for the longest time, then what
// is held, then what is asked most.
func compareHosts(a, b Host) int {
	return cmp.Or(cmp.Compare(b.Longest, a.Longest), cmp.Compare(b.Held, a.Held), cmp.Compare(b.UnderWay, a.UnderWay), cmp.Compare(a.Host, b.Host))
}

func (h *host) longestWait(now moment) (longest Seconds) {
	for _, t := range h.queue.turns {
		longest = max(longest, Seconds(now-t.asked))
	}
	return longest
}

// state tells how the host is. It changes nothing.
func (h *host) state(now moment) Host {
	w := h.words.last()
	s := Host{
		Host: h.name, UnderWay: h.underWay, Waiting: len(h.queue.turns), Longest: h.longestWait(now),
		Held: Seconds(max(w.until-now, 0)), Penalty: Seconds(h.words.longestPenalty()), Slow: Seconds(h.slow.interval),
		Sharers: h.clients.present(now), Clients: h.waiters(),
	}
	s.Told = s.Held > 0 && w.told
	if s.Waiting == 0 {
		next := &Turn{site: h.usual, service: w.service}
		d := h.interval(next)
		s.Interval = Seconds(d)
		switch {
		case s.Held > 0:
			s.Cause = h.causeOf(next, 0, now).String()
		case d > 0:
			s.Cause = h.causeOfInterval(next, d).String()
		}
		return s
	}
	h.eachTurn(now, func(i int, at moment) bool {
		t := h.queue.turns[i]
		s.Interval, s.Cause = Seconds(h.interval(t)), h.causeOf(t, i, now).String()
		if !h.queue.waitsForPlace || at > now {
			s.Next = Seconds(at - now)
		}
		return false
	})
	return s
}

// waiters are the clients whose requests wait.
func (h *host) waiters() (all []Waiters) {
	for _, c := range h.clients.all {
		if c.waiting > 0 {
			all = append(all, Waiters{c.key.String(), c.waiting})
		}
	}
	slices.SortFunc(all, func(a, b Waiters) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Client, b.Client))
	})
	return all[:min(len(all), mostClients)]
}

// String is the client's name, or its address: of IPv6, the first of its /64.
func (c client) String() string {
	if c.name != "" || c.addr == (netip.Addr{}) {
		return c.name
	}
	return c.addr.String()
}
