package agent

import (
	"time"

	"heed/internal/quota"
	"heed/policy"
)

// Client is a client that the configuration names: who it is, what goes out in
// its name, and what it may do. It does not change, but for what it has used, and there is one for each
// name, so that two are the same client where the pointers are equal. Nil is
// everybody whom the configuration does not name.
type Client struct {
	Name string // in the log and in metrics; never empty

	// What the log says of it besides; each may be empty.
	Purpose, Project, Contact string

	Token     string // product token that it goes by in place of its User-Agent's; "" for that
	UserAgent string // sent to origins in place of its own field; "" leaves that
	From      string // likewise (RFC 9110 §10.1.2)

	MayAsk func(host string) bool // hosts, in canonical form, that it may ask for; nil: any
	HTTPS  string                 // what is done with its tunnels: "intercept", "tunnel" or "deny"; "" says nothing
	Mode   string                 // "enforce" or "report"; "" says nothing
	Quota  *quota.Account         // what it has used of what it may; nil: it may use anything
	Hold   time.Duration          // how long one of its requests is held for the sake of pace; 0 says nothing
}

// Tokens returns the product tokens that a request of the client stands for,
// whose own User-Agent fields are given; a nil client's are those of the fields
// alone (Tokens).
//
// The names are those of the User-Agent that the origin gets to see: UserAgent,
// where that is set, or the client's own. Token goes before all of them, and
// makes the others further names: the origin sees them, so its rules for them
// count, but can only restrict.
func (c *Client) Tokens(userAgents []string) policy.Tokens {
	if c == nil {
		return Tokens(userAgents)
	}
	if c.UserAgent != "" {
		userAgents = []string{c.UserAgent}
	}
	return c.named(Tokens(userAgents))
}

// UnreadTokens is Tokens of a tunnel that is not read: what origins are sent in it
// is the client's own, whatever UserAgent says.
func (c *Client) UnreadTokens(userAgents []string) policy.Tokens {
	t := Tokens(userAgents)
	if c == nil {
		return t
	}
	return c.named(t)
}

// named puts the client's token before the names that an origin gets to see.
func (c *Client) named(t policy.Tokens) policy.Tokens {
	if c.Token == "" {
		return t
	}
	named := policy.Tokens{Main: []string{c.Token}, Fields: t.Fields}
	for _, names := range [...][]string{t.Main, t.Also} {
		for _, name := range names {
			if name != everyone && !contains(named.Main, name) && !contains(named.Also, name) {
				named.Also = append(named.Also, name)
			}
		}
	}
	return named
}
