package store

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"

	"heed/internal/origin"
)

// Pattern names origins. The zero value names them all.
type Pattern struct {
	Scheme string // "" for both
	Host   string // canonical; "" for all
	Below  bool   // every host below Host, and not Host itself
	Port   string // "" for all
}

// ParsePattern reads what people write for origins:
//
//	example.com            this host, by http and https, on every port
//	example.com:8080       on that port alone
//	https://example.com/x  one origin; what follows the host does not count
//	*.example.com          every host below
//	*                      all
//
// The error says what is wrong with it and what to write.
func ParsePattern(text string) (Pattern, error) {
	if text == "*" {
		return Pattern{}, nil
	}
	scheme, authority, whole := strings.Cut(text, "://")
	if !whole {
		scheme, authority = "https", text
	}
	if end := strings.IndexAny(authority, `/?#\`); end >= 0 {
		authority = authority[:end]
	}
	authority, below := strings.CutPrefix(authority, "*.")
	bare := false
	if addr, err := netip.ParseAddr(authority); err == nil && addr.Is6() {
		authority, bare = "["+authority+"]", true
	}
	o, err := origin.Parse(scheme, authority)
	if err != nil {
		return Pattern{}, fmt.Errorf("%.200q names no origin: %w; write example.com, https://example.com, *.example.com or *", text, err)
	}
	p := Pattern{Host: o.Host, Below: below}
	if _, err := netip.ParseAddr(o.Host); below && err == nil {
		return Pattern{}, fmt.Errorf("%.200q names no origin: nothing is below an address; write %s", text, o.Host)
	}
	if whole {
		p.Scheme = o.Scheme
	}
	if whole && !below || !bare && hasPort(authority) {
		p.Port = o.Port
	}
	return p, nil
}

func hasPort(authority string) bool {
	colon := strings.LastIndexByte(authority, ':')
	return colon > strings.LastIndexByte(authority, ']') && colon+1 < len(authority)
}

// Exactly returns the pattern of one origin.
func Exactly(o origin.Origin) Pattern { return Pattern{Scheme: o.Scheme, Host: o.Host, Port: o.Port} }

// String returns the pattern as ParsePattern reads it.
func (p Pattern) String() string {
	if p.Host == "" {
		return "*"
	}
	text := p.Host
	if strings.Contains(text, ":") {
		text = "[" + text + "]"
	}
	if p.Below {
		text = "*." + text
	}
	if p.Port != "" {
		text += ":" + p.Port
	}
	if p.Scheme != "" {
		text = p.Scheme + "://" + text
	}
	return text
}

// Matches reports whether the pattern names an origin.
func (p Pattern) Matches(o origin.Origin) bool {
	if p.Scheme != "" && p.Scheme != o.Scheme || p.Port != "" && p.Port != o.Port {
		return false
	}
	if p.Below {
		return strings.HasSuffix(o.Host, "."+p.Host)
	}
	return p.Host == "" || p.Host == o.Host
}

// prefix returns what the keys of all origins that the pattern names begin
// with.
func (p Pattern) prefix() []byte {
	if p.Host == "" || p.Below {
		return nil
	}
	return hostPrefix(p.Host)
}

// past reports whether a key lies behind all that the pattern names.
func (p Pattern) past(key []byte) bool {
	prefix := p.prefix()
	return !bytes.HasPrefix(key, prefix) && bytes.Compare(key, prefix) > 0
}
