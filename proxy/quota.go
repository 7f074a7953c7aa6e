package proxy

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"heed/internal/audit"
	"heed/internal/quota"
)

// spent is what a client has left that may not ask for anything at the moment.
type spent struct{ quota.State }

func (s *spent) Error() string { return s.String() }

// quotaAccount is what the client of the exchange has used; nil where it has no quota.
func (x *exchange) quotaAccount() *quota.Account {
	if x.client == nil {
		return nil
	}
	return x.client.Quota
}

// takeQuota counts the request as one that its client has made, or says what the
// client has used up. It stands behind the decision, so that nothing is used up by
// what a robots.txt denies.
func (p *Proxy) takeQuota(x *exchange) error {
	account := x.quotaAccount()
	if account == nil {
		return nil
	}
	pass, left, ok := account.Take(time.Now())
	if !ok {
		return &problem{kind: kindQuota, retry: left.Rest(), cause: &spent{left}}
	}
	x.pass = pass
	return nil
}

// settleQuota tells what became of a request that was counted: it counts for
// nothing where it was not forwarded in the end. Later calls are of no effect.
func (x *exchange) settleQuota(v audit.Verdict) {
	switch {
	case !x.pass.Open():
	case v == audit.Forwarded:
		x.quotaAccount().Arrived(&x.pass, time.Now())
	default:
		x.quotaAccount().Return(&x.pass, time.Now())
	}
}

// carried counts the octets of the bodies of an exchange that has ended.
func carried(by *quota.Account, e *audit.Entry) {
	if by != nil && e.Verdict == audit.Forwarded {
		by.Carried(e.BytesIn+e.BytesOut, time.Now())
	}
}

// addRateLimits adds what the client has left, to an answer of heed's own alone:
// the fields of a forwarded one are the origin's, which may count for itself
// (draft-ietf-httpapi-ratelimit-headers). Names of fields have no case; these are
// written as the draft writes them.
func (x *exchange) addRateLimits(h http.Header, pr *problem) {
	account := x.quotaAccount()
	if account == nil {
		return
	}
	var left quota.State
	if s := new(spent); errors.As(pr.cause, &s) {
		left = s.State
	} else {
		left = account.State(time.Now())
	}
	h["RateLimit-Policy"], h["RateLimit"] = []string{rateLimitPolicy(left)}, []string{rateLimit(left)}
}

// rateLimitPolicy is the RateLimit-Policy field: what there is of each limit (q),
// in how many seconds (w), in which unit (qu) if not in requests.
func rateLimitPolicy(s quota.State) string {
	return eachLimit(s, func(i item, l quota.Limit, left quota.Left) item {
		i = i.count("q", left.Of)
		switch l {
		case quota.Minute:
			return i.count("w", 60)
		case quota.Bytes:
			return i.count("w", 86400).text("qu", "content-bytes")
		}
		return i.count("w", 86400)
	})
}

// rateLimit is the RateLimit field: what is left of each limit (r), and for how
// many seconds that has to do (t).
func rateLimit(s quota.State) string {
	return eachLimit(s, func(i item, _ quota.Limit, left quota.Left) item {
		return i.count("r", left.Left).count("t", quota.Seconds(left.Rest))
	})
}

// eachLimit is a List (RFC 9651 §3.1) with an Item for each limit.
func eachLimit(s quota.State, write func(item, quota.Limit, quota.Left) item) string {
	var room [192]byte
	i := item(room[:0])
	for l, left := range s.Limits {
		if left.Of == 0 {
			continue
		}
		if len(i) > 0 {
			i = append(i, ", "...)
		}
		i = append(append(append(i, '"'), quota.Limit(l).String()...), '"')
		i = write(i, quota.Limit(l), left)
	}
	return string(i)
}

// count appends a parameter that is an Integer, 0 included.
func (i item) count(name string, value int64) item { return strconv.AppendInt(i.name(name), value, 10) }
