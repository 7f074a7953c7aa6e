package config

import (
	"errors"
	"fmt"
	"io"
	"net/mail"
	"net/netip"
	"os"
	"strings"

	"heed/internal/agent"
)

// Clients says who may use the proxy, and who they are.
type Clients struct {
	Allow    []netip.Prefix `yaml:"allow"`    // addresses of clients; loopback is always allowed
	Htpasswd string         `yaml:"htpasswd"` // file of names and bcrypt hashes (agent.ParseHtpasswd); "" for none
	Named    []Client       `yaml:"named"`    // who has a name; those of the file alone are not here
}

// Client is a client that has a name. It is known by its password, or by the
// address that it asks from; each of the two is enough.
type Client struct {
	Name         string         `yaml:"name"`                   // never empty
	Password     Hash           `yaml:"password,omitempty"`     // "" for none, or the file's
	Addresses    []netip.Prefix `yaml:"addresses,omitempty"`    // of several that fit, of whichever clients, the longest counts
	Token        string         `yaml:"token,omitempty"`        // product token before those of the User-Agent; "" for none
	UserAgent    string         `yaml:"user_agent,omitempty"`   // sent in place of the client's own; "" leaves that
	From         string         `yaml:"from,omitempty"`         // likewise
	Purpose      Line           `yaml:"purpose,omitempty"`      // for the log, as the next two; may be empty
	Project      Line           `yaml:"project,omitempty"`      //
	Contact      Line           `yaml:"contact,omitempty"`      //
	Destinations []HostPattern  `yaml:"destinations,omitempty"` // hosts that it may ask for; none for all
	HTTPS        string         `yaml:"https,omitempty"`        // Intercept, Tunnel or Deny; "" for what https says
	Mode         string         `yaml:"mode,omitempty"`         // Enforce or Report; "" for what mode and modes say
	Hold         Duration       `yaml:"hold,omitempty"`         // in place of pace.hold; 0 for that
	Quota        Quota          `yaml:"quota,omitempty"`        // what it may use
}

// Hash is agent.Hash as it stands in a file.
type Hash agent.Hash

// UnmarshalText reads a bcrypt hash. No error shows what it was given: that may
// be the password itself.
func (h *Hash) UnmarshalText(text []byte) error {
	hash, err := agent.ParseHash(string(text))
	if err != nil {
		return fmt.Errorf("what is written there is %w", err)
	}
	*h = Hash(hash)
	return nil
}

// Identity says who a client must be for its requests to be forwarded.
type Identity struct {
	Require string `yaml:"require"` // RequireAny, RequireToken or RequireNamed
}

// Who a client must be.
const (
	RequireAny   = "any"   // whoever may use the proxy
	RequireToken = "token" // one with a product token
	RequireNamed = "named" // one that has a name in the configuration, and a product token
)

// maxHtpasswd is above any file of credentials, one of ten thousand included.
const maxHtpasswd = 1 << 20

// Credentials returns what the file of credentials holds, nothing where there is
// none. The error names every line that is at fault.
func (c *Clients) Credentials() ([]agent.Credential, error) {
	if c.Htpasswd == "" {
		return nil, nil
	}
	text, err := readCredentials(c.Htpasswd)
	if err != nil {
		return nil, err
	}
	all, faults := agent.ParseHtpasswd(text)
	if len(all)+len(faults) == 0 {
		return nil, fmt.Errorf("%s has no credentials; add one with htpasswd -B %s NAME, or leave the key out", c.Htpasswd, c.Htpasswd)
	}
	var joined []error
	for _, f := range faults {
		joined = append(joined, fmt.Errorf("%s: %w", c.Htpasswd, f))
	}
	return all, errors.Join(joined...)
}

func readCredentials(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("reading credentials: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("reading credentials: %s is not a file; name one that htpasswd -B has written", path)
	case info.Size() > maxHtpasswd:
		return "", fmt.Errorf("reading credentials: %s has %d octets; such a file has at most %d", path, info.Size(), maxHtpasswd)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading credentials: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxHtpasswd))
	if err != nil {
		return "", fmt.Errorf("reading credentials: %w", err)
	}
	return string(text), nil
}

// clients checks who may use the proxy: no name, no password and no range of
// addresses may stand for two.
func (r *reader) clients() {
	c := &r.config.Clients
	r.everyMachine("clients.allow", c.Allow)
	lines := r.credentials()
	seen, ranges := map[string]int{}, map[netip.Prefix]string{}
	for i := range c.Named {
		n, key := &c.Named[i], fmt.Sprintf("clients.named[%d]", i)
		switch first, twice := seen[n.Name]; {
		case n.Name == "":
			r.missing(key, "name", "news, or whatever it is called in the log")
		case agent.CheckName(n.Name) != nil:
			r.blame(key+".name", n.Name, agent.CheckName(n.Name))
		case twice:
			r.blame(key+".name", n.Name, fault(fmt.Sprintf("is the name of clients.named[%d] already; keep one of them", first)))
		default:
			seen[n.Name] = i
		}
		r.known(n, key, lines)
		r.everyMachine(key+".addresses", n.Addresses)
		r.ranges(n, key, ranges)
		r.called(n, key)
		if len(n.Destinations) == 0 && r.sources[key+".destinations"] != "" { // a list says what is allowed, and an empty one would allow all
			r.blame(key+".destinations", "[]", fault("allows no host at all, so that the client can ask for nothing; name some, or leave the key out for all"))
		}
		r.quota(n.Quota, key+".quota")
		if n.HTTPS != "" {
			r.oneOf(key+".https", n.HTTPS, Intercept, Tunnel, Deny)
		}
		if n.Mode != "" {
			r.oneOf(key+".mode", n.Mode, Enforce, Report)
		}
		r.length(key+".hold", n.Hold, 0, longestHold, "")
	}
	r.identity()
}

// credentials reads the file, and returns where each name stands.
func (r *reader) credentials() map[string]int {
	lines := map[string]int{}
	all, err := r.config.Clients.Credentials()
	var several interface{ Unwrap() []error }
	switch path := r.config.Clients.Htpasswd; {
	case errors.As(err, &several):
		for _, e := range several.Unwrap() {
			r.blame("clients.htpasswd", path, e)
		}
	case err != nil:
		r.blame("clients.htpasswd", path, err)
	}
	for _, c := range all {
		lines[c.Name] = c.Line
	}
	return lines
}

// known checks that somebody can be the client.
func (r *reader) known(n *Client, key string, lines map[string]int) {
	line, filed := lines[n.Name]
	switch {
	case filed && n.Password != "":
		r.blame(key+".password", "", fmt.Errorf("line %d of clients.htpasswd has a password for %s too; keep one of them", line, n.Name))
	case !filed && n.Password == "" && len(n.Addresses) == 0 && n.Name != "":
		r.blameElement(key, fmt.Errorf("has no password and no addresses, nor is there a line for it in clients.htpasswd, so that nobody can be it; write password: the hash that htpasswd -nB %s prints, or addresses: [10.1.0.0/16]", n.Name))
	}
}

// The shortest prefixes of networks that are somebody's own: 10.0.0.0/8, and
// fc00::/7 (RFC 4193 §3).
const (
	shortest4 = 8
	shortest6 = 7
)

// everyMachine refuses ranges that make an open proxy of heed: those of every
// address, and the halves and eighths that they could be written in.
func (r *reader) everyMachine(key string, all []netip.Prefix) {
	for i, p := range all {
		shortest, lets := shortest6, "lets much of the world use this proxy"
		if p.Addr().Is4() {
			shortest = shortest4
		}
		if p.Bits() == 0 {
			lets = "lets every machine use this proxy"
		}
		if p.Bits() < shortest {
			r.blame(fmt.Sprintf("%s[%d]", key, i), p.String(), fault(lets+"; name your own networks, for example 10.0.0.0/8"))
		}
	}
}

// ranges checks that no range of addresses stands for two clients.
func (r *reader) ranges(n *Client, key string, owners map[netip.Prefix]string) {
	for i, p := range n.Addresses {
		if owner, twice := owners[p]; twice {
			r.blame(fmt.Sprintf("%s.addresses[%d]", key, i), p.String(), fault(fmt.Sprintf("is a range of %s and of %s; keep one of them: a request has one client", owner, n.Name)))
			continue
		}
		owners[p] = n.Name
	}
}

// longestUserAgent is how many octets a User-Agent field has room for.
const longestUserAgent = 512

// called checks what origins are told of the client.
func (r *reader) called(n *Client, key string) {
	if n.Token != "" && !agent.IsToken(n.Token) {
		r.blame(key+".token", n.Token, fault("is not a product token (RFC 9309 §2.2.1) that names somebody; write letters, digits, hyphens and underscores, for example NewsBot"))
	}
	switch ua := n.UserAgent; {
	case ua == "":
	case len(ua) > longestUserAgent || !visible(ua):
		r.blame(key+".user_agent", ua, fault(fmt.Sprintf("cannot stand in a field; write at most %d octets of visible ASCII, with blanks between words alone", longestUserAgent)))
	case len(agent.Tokens([]string{ua}).Main) == 0:
		r.blame(key+".user_agent", ua, fault("names nobody: it has no product token but a browser's; write for example NewsBot/1.0 (+https://a.example/bot)"))
	}
	if n.From != "" {
		if _, err := mail.ParseAddress(n.From); err != nil || !visible(n.From) {
			r.blame(key+".from", n.From, fault("is not a mailbox (RFC 9110 §10.1.2); write for example bots@a.example"))
		}
	}
}

// visible reports whether a text is the value of a field: ASCII that is seen, and
// blanks that neither begin nor end it.
func visible(text string) bool {
	return strings.TrimSpace(text) == text && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
}

func (r *reader) identity() {
	require, c := r.config.Identity.Require, &r.config.Clients
	r.oneOf("identity.require", require, RequireAny, RequireToken, RequireNamed)
	if require == RequireNamed && !c.names() {
		r.blame("identity.require", require, fault("lets nobody in: no client has a name; write clients.named or clients.htpasswd"))
	}
}

// names reports whether a client has a name at all.
func (c *Clients) names() bool { return len(c.Named) > 0 || c.Htpasswd != "" }
