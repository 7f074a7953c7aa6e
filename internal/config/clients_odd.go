package config

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"heed/internal/agent"
)

// Warnings returns what is no fault but cannot have been meant, a line each. The
// mode is that of clients that have none of their own (https.mode).
func (c *Clients) Warnings(mode string) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if info, err := os.Stat(c.Htpasswd); c.Htpasswd != "" && err == nil && info.Mode().Perm()&0o006 != 0 && runtime.GOOS != "windows" {
		add("clients.htpasswd: everybody on this machine can read or write %s (mode %#o), and so try passwords or set them; run chmod o-rwx %s", c.Htpasswd, info.Mode().Perm(), c.Htpasswd)
	}
	for i := range c.Named {
		n, key := &c.Named[i], fmt.Sprintf("clients.named[%d]", i)
		if string(n.Password) != "" && agent.Hash(n.Password).Redacted() == string(n.Password) {
			add("%s: the password of %s is what heed config print shows in place of one, so nobody can log in; write the hash itself", key, n.Name)
		}
		switch {
		case n.Token != "" && n.UserAgent == "":
			add("%s: %s goes by the token %s, but origins are sent its own User-Agent, which should have that token in it (RFC 9309 §2.2.1); write user_agent: %s/1.0 (+https://a.example/bot), or leave this be if it sends one like it", key, n.Name, n.Token, n.Token)
		case n.Token != "" && !containsFold(n.UserAgent, n.Token):
			add("%s: the user_agent of %s does not have its token %s in it, so that origins cannot tell whose rules it goes by (RFC 9309 §2.2.1); write both alike", key, n.Name, n.Token)
		}
		if unread := unreadBy(n.HTTPS, mode); unread != "" && (n.UserAgent != "" || n.From != "") {
			add("%s: tunnels of %s are not read (%s), so that user_agent and from are sent over http:// alone; write https: intercept for them to be sent everywhere", key, n.Name, unread)
		}
		for j, p := range n.Addresses {
			if owner := c.around(i, p); owner != "" {
				add("%s.addresses[%d]: %s lies within a range of %s; what comes from it is %s, since the longest range counts", key, j, p, owner, n.Name)
			}
		}
	}
	return all
}

// unreadBy returns the setting by which a client's tunnels are not read, "" where
// they are, or are none.
func unreadBy(own, mode string) string {
	switch {
	case own == Tunnel:
		return "https: tunnel"
	case own == "" && mode == Tunnel:
		return "https.mode: tunnel"
	}
	return ""
}

// around returns the name of another client with the closest of the ranges that a
// range of the client i lies in, "" if there is none.
func (c *Clients) around(i int, p netip.Prefix) (name string) {
	best := 0
	for j, other := range c.Named {
		for _, o := range other.Addresses {
			if j != i && best < o.Bits() && o.Bits() < p.Bits() && o.Contains(p.Addr()) {
				name, best = other.Name, o.Bits()
			}
		}
	}
	return name
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
