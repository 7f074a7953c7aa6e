// Package quota bounds what a client may use: requests in a minute, requests in a
// day, octets of bodies in a day.
//
// A Keeper has an Account for each client that the configuration gives a quota.
// A request that is to be forwarded asks its client's Account to let it in (Take),
// which answers with a Pass, or with what is used up. The Account is then told what
// became of the request: that it has reached its origin (Arrived), or that it was
// not forwarded after all and counts for nothing (Return); and how much was carried
// for it (Carried). So a request that is denied for any other reason uses up
// nothing, and neither does one that is refused here.
//
// # The minute
//
// In no 60 seconds do more requests reach their origins than the quota says, by
// the origins' own clocks: a request counts from when it is let in until a minute
// after it is known to have arrived. The moments of arrival are kept one by one, 8
// octets each, since what is cheaper lets more through: a minute of the clock
// takes twice the quota around its border, and a token bucket (GCRA) that permits
// a burst takes it twice as well, first the burst and then what flows in.
//
// # The day
//
// A day is a day of the calendar in UTC, so that everybody knows when it is over.
// The clock set back renews nothing; see day.
//
// Octets are counted when an exchange has ended, on the day on which it ends, and
// a request is let in while any are left. What is under way is not cut off, so a
// client can go beyond its quota by that.
//
// # What outlives the process
//
// A small file keeps the counts of the day and of the last minute. It is written
// whole, every minute in which something changed and at the end: a process that
// is killed forgets a minute at most. A file that is damaged is set aside, and
// nothing is left of the day's quotas until the day is over, since nobody knows
// what was used; where there is none, nothing was. One process has the file:
// several do not add up.
package quota

import (
	"time"

	"github.com/rs/zerolog"
)

// Limit is one of the bounds of a client.
type Limit uint8

// The limits, in the order in which they are told.
const (
	Minute Limit = iota // requests in any 60 seconds
	Day                 // requests in a day
	Bytes               // octets of bodies in a day, both ways together

	limitCount
)

// String returns the limit's name, which never changes: it stands in fields, in
// labels of metrics and in JSON.
func (l Limit) String() string { return [limitCount]string{"minute", "day", "bytes-day"}[l] }

// Limits are the bounds of a client; 0 is none.
type Limits [limitCount]int64

// Client is a client with a quota.
type Client struct {
	Name   string // unique; the key of its counts in the file
	Limits Limits
}

// Config is what a Keeper is made of. The zero value keeps nothing.
type Config struct {
	Clients []Client       // those without any limit are left out
	File    string         // path of the counts that outlive the process; "": none do
	Log     zerolog.Logger // for a file that cannot be read or written
}

// Keeper has the accounts. Make one with New, then call Load, then Run. A nil
// Keeper has none. Safe for concurrent use.
type Keeper struct {
	config   Config
	accounts []*Account // in the order of the configuration
	byName   map[string]*Account
	file     file
}

// New returns a Keeper of which nothing is used. It does no I/O.
func New(c Config) *Keeper {
	k := &Keeper{config: c, byName: map[string]*Account{}}
	now := momentOf(time.Now())
	for _, client := range c.Clients {
		if client.Limits != (Limits{}) {
			a := newAccount(client, now)
			k.accounts = append(k.accounts, a)
			k.byName[client.Name] = a
		}
	}
	return k
}

// Account returns that of the client of a name; nil where it has no quota.
func (k *Keeper) Account(name string) *Account {
	if k == nil {
		return nil
	}
	return k.byName[name]
}

// States returns what each client has left, in the order of the configuration.
func (k *Keeper) States(now time.Time) []State {
	if k == nil {
		return nil
	}
	all := make([]State, len(k.accounts))
	for i, a := range k.accounts {
		all[i] = a.State(now)
	}
	return all
}
