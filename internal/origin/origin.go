// Package origin names the unit that has a robots.txt: scheme, host and port
// (RFC 9309 §2.3, RFC 6454 §4). Every spelling of one origin parses to one
// comparable value, so it can be the key of a cache without a separator that
// a hostile name could forge.
package origin

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Origin is a canonical origin. The zero value is no origin. Make one with
// Parse; values are comparable and safe to copy.
type Origin struct {
	Scheme string // "http" or "https"
	Host   string // lower-case A-label without a trailing dot, or an IP address without brackets
	Port   string // decimal, never empty, without leading zeros
}

// profile maps a host as browsers do (UTS #46, non-transitional) and keeps the
// underscores and the hyphens in odd places that real hosts have.
var profile = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
	idna.BidiRule(),
	idna.VerifyDNSLength(true),
)

// maxUnicode is how long a host may be before it is mapped: four octets for
// each that its A-labels could have. Punycode takes quadratic time.
const maxUnicode = 4 * 253

// Parse returns the origin of a scheme and an authority (host, or host:port,
// an IPv6 address in brackets). Scheme and host are folded to lower case, an
// IDN becomes its A-label, a trailing dot and an empty port are dropped, and a
// missing port becomes the scheme's own.
//
// The error names what is wrong: an unknown scheme, userinfo, a port outside
// 1–65535, a host that is neither a name nor an address, or one of the
// spellings of an IPv4 address (decimal, octal, hexadecimal, short) that
// resolvers read differently.
func Parse(scheme, authority string) (Origin, error) {
	s := lower(scheme)
	if s != "http" && s != "https" {
		return Origin{}, fmt.Errorf("scheme %q is not http or https", scheme)
	}
	if strings.IndexByte(authority, '@') >= 0 {
		return Origin{}, errors.New("authority has userinfo: credentials do not belong in a URL (RFC 9110 §4.2.4)")
	}
	host, port, err := split(authority)
	if err != nil {
		return Origin{}, err
	}
	if port, err = canonicalPort(s, port); err != nil {
		return Origin{}, err
	}
	if host, err = canonicalHost(host); err != nil {
		return Origin{}, err
	}
	return Origin{Scheme: s, Host: host, Port: port}, nil
}

// String returns the origin in its usual form, without a default port:
// "https://a.example", "http://[::1]:8080".
func (o Origin) String() string { return o.Scheme + "://" + o.Authority() }

// Within is String, without an allocation where s begins with it: the text is
// part of s then. A request-target in absolute form mostly does.
func (o Origin) Within(s string) string {
	rest, ok := strings.CutPrefix(s, o.Scheme)
	if ok {
		rest, ok = strings.CutPrefix(rest, "://")
	}
	if ok {
		rest, ok = strings.CutPrefix(rest, o.Host)
	}
	if ok && o.Port != defaultPort(o.Scheme) {
		if rest, ok = strings.CutPrefix(rest, ":"); ok {
			rest, ok = strings.CutPrefix(rest, o.Port)
		}
	}
	if !ok || strings.IndexByte(o.Host, ':') >= 0 { // whose brackets are no part of it
		return o.String()
	}
	return s[:len(s)-len(rest)]
}

// Authority returns host or host:port as the Host field carries it, without a
// default port.
func (o Origin) Authority() string {
	h := o.bracketed()
	if o.Port == defaultPort(o.Scheme) {
		return h
	}
	return h + ":" + o.Port
}

// Addr returns host:port for dialling.
func (o Origin) Addr() string { return o.bracketed() + ":" + o.Port }

// RobotsURL returns the address of the origin's robots.txt (RFC 9309 §2.3).
func (o Origin) RobotsURL() string { return o.String() + "/robots.txt" }

func (o Origin) bracketed() string {
	if strings.IndexByte(o.Host, ':') >= 0 {
		return "[" + o.Host + "]"
	}
	return o.Host
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// split cuts an authority at its port. It keeps the brackets of an IPv6
// address so that canonicalHost can tell [name] from [::1].
func split(authority string) (host, port string, err error) {
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return "", "", fmt.Errorf("authority %q has no closing bracket", authority)
		}
		host, rest := authority[:end+1], authority[end+1:]
		if rest == "" {
			return host, "", nil
		}
		if rest[0] != ':' {
			return "", "", fmt.Errorf("authority %q has octets between the address and the port", authority)
		}
		return host, rest[1:], nil
	}
	host, port, _ = strings.Cut(authority, ":")
	if strings.IndexByte(port, ':') >= 0 {
		return "", "", fmt.Errorf("authority %q: an IPv6 address must be in brackets", authority)
	}
	return host, port, nil
}

func canonicalPort(scheme, port string) (string, error) {
	if port == "" {
		return defaultPort(scheme), nil
	}
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return "", fmt.Errorf("port %q is not a number", port)
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("port %q is not between 1 and 65535", port)
	}
	if port[0] != '0' {
		return port, nil
	}
	return strconv.FormatUint(n, 10), nil
}

func canonicalHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		return canonicalIPv6(host)
	}
	// Case is folded before anything is judged, so that no spelling of a name
	// is judged by other rules than its lower-case one.
	host = lower(host)
	if !plain(host) {
		var err error
		if host, err = toASCII(host); err != nil {
			return "", err
		}
	}
	host = strings.TrimSuffix(host, ".")
	if err := checkName(host); err != nil {
		return "", err
	}
	return host, nil
}

func canonicalIPv6(host string) (string, error) {
	addr, err := netip.ParseAddr(host[1 : len(host)-1])
	if err != nil || !addr.Is6() {
		return "", fmt.Errorf("host %q is not an IPv6 address", host)
	}
	if addr.Zone() != "" {
		return "", fmt.Errorf("host %q has a zone, which has no meaning beyond this machine (RFC 6874 §4)", host)
	}
	return addr.Unmap().String(), nil
}

// toASCII maps a host that is not already plain to its A-label form. Octets
// that no host has are refused in what goes in, for idna would let some of
// them pass, and in what comes out: the mapping turns "／" into a slash.
func toASCII(host string) (string, error) {
	if len(host) > maxUnicode {
		return "", fmt.Errorf("host of %d octets is longer than a name can be", len(host))
	}
	if !utf8.ValidString(host) {
		return "", fmt.Errorf("host %q is not a host name: it has octets that no name can have", host)
	}
	for i := range len(host) {
		if c := host[i]; c < 0x80 && !hostOctet(c) {
			return "", fmt.Errorf("host %q has the octet %q, which no host name has", host, c)
		}
	}
	ascii, err := profile.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil {
		return "", fmt.Errorf("host %q is not a host name: %w", host, err)
	}
	for i := range len(ascii) {
		if c := ascii[i]; !hostOctet(c) {
			return "", fmt.Errorf("host %q stands for %q, which has the octet %q that no host name has", host, ascii, c)
		}
	}
	return ascii, nil
}

// checkName refuses what is left: empty, over-long, or a number that some
// resolvers take for an IPv4 address (WHATWG URL, "ends in a number").
func checkName(host string) error {
	if host == "" {
		return errors.New("host is empty")
	}
	if len(host) > 253 {
		return fmt.Errorf("host of %d octets is longer than a name can be (253)", len(host))
	}
	label := 0
	for i := range len(host) {
		if host[i] != '.' {
			label++
			if label > 63 {
				return fmt.Errorf("host %q has a label of more than 63 octets", host)
			}
			continue
		}
		if label == 0 {
			return fmt.Errorf("host %q has an empty label", host)
		}
		label = 0
	}
	if label == 0 {
		return fmt.Errorf("host %q has an empty label", host)
	}
	if endsInNumber(host) {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is4() {
			return fmt.Errorf("host %q is a number but not an IPv4 address of four decimal parts", host)
		}
	}
	return nil
}

func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if len(last) >= 2 && last[0] == '0' && last[1] == 'x' {
		return strings.Trim(last[2:], "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// plain reports whether a host is already canonical but for a trailing dot:
// the common case, which costs no allocation. A label that claims to be an
// A-label is left to idna to verify.
func plain(host string) bool {
	for i := range len(host) {
		if !hostOctet(host[i]) {
			return false
		}
	}
	return !strings.Contains(host, "xn--")
}

func hostOctet(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_'
}

// lower folds ASCII, and only that, without allocating when there is nothing
// to fold.
func lower(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return foldASCII(s)
		}
	}
	return s
}

func foldASCII(s string) string {
	folded := []byte(s)
	for i, c := range folded {
		if c >= 'A' && c <= 'Z' {
			folded[i] = c + ('a' - 'A')
		}
	}
	return string(folded)
}
