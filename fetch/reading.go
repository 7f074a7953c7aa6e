package fetch

import (
	"heed/policy"
)

// Reading is how a robots.txt is read that is at hand, in place of being fetched:
// as a Fetcher reads it. The zero value is that of a Fetcher of which nothing else
// was asked.
type Reading struct {
	Limit    int            // as Config's
	Cautious bool           // as Config's
	Strict   bool           // as Config's
	Refusals bool           // as Config's
	Dialect  policy.Dialect // whose reading it is; for another than the default neither charset nor caution counts
}

// Snapshot is what a record says of the robots.txt at url, whatever its age: as it
// was when the origin was last asked. Rules that were used on then are used.
func (r Reading) Snapshot(url string, rec Record) policy.Snapshot {
	s := policy.Snapshot{
		URL: url, Access: rec.Access, Status: rec.Status, Hops: rec.Hops, Fetched: rec.Fetched, Checked: rec.Checked,
		FreshUntil: rec.FreshUntil, Attempts: rec.Attempts, Err: rec.Err, Size: len(rec.Body),
		UTF8: isUTF8(rec.Charset), Cautious: r.Cautious, Refusals: r.Refusals,
	}
	if rec.Attempts > 0 && !rec.Checked.Before(rec.FreshUntil) { // the last answer was too old already when it failed
		s.Access = policy.Unreachable
	}
	if rec.Access != policy.Successful {
		return s
	}
	s.Body = rec.Body
	limit := max(r.Limit, policy.DefaultLimit)
	if r.Dialect != policy.RFC9309 {
		s.Rules = policy.Compile(rec.Body, policy.Options{Limit: limit, Dialect: r.Dialect, Decoded: s.UTF8})
	} else {
		b := bodies{limit: limit, cautious: r.Cautious, strict: r.Strict}
		read := b.share(rec.Body, rec.Charset)
		s.Rules, s.Charset = read.rules, read.note
	}
	s.Truncated = len(rec.Body) > limit
	return s
}
