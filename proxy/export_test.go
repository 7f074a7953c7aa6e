package proxy

import (
	"net/http"

	"heed/internal/audit"
	"heed/internal/origin"
)

// Account is what is done of an exchange besides carrying it: who asks, what is
// decided, and its record, as if it had been forwarded where it was allowed.
type Account struct {
	p *Proxy
	c clientConn
}

// NewAccount returns the account that a Proxy keeps.
func NewAccount(c Config) *Account { return &Account{p: New(c)} }

// Take takes one exchange through it.
func (a *Account) Take(r *http.Request, o origin.Origin, target string) {
	x := &exchange{in: r, entry: newEntry(&a.c, r), origin: o, target: target}
	x.entry.Target, x.entry.Origin = target, o.Within(r.RequestURI)
	if err := a.p.identify(x); err != nil {
		panic(err)
	}
	if err := a.p.permit(x); err != nil {
		panic(err)
	}
	if err := a.p.decide(x); err != nil {
		panic(err)
	}
	x.entry.Status = http.StatusForbidden
	if x.entry.Decision.Allowed {
		x.entry.Verdict, x.entry.Status = audit.Forwarded, http.StatusOK
	}
	a.p.record(x)
}
