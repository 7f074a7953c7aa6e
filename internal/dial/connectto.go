package dial

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"heed/internal/origin"
)

// ConnectTo sends connections for one host and port to another, as curl's
// --connect-to does. Only the connection goes elsewhere: the name in the Host
// field and in TLS stays.
//
// Hosts are names (lower-case A-labels) or IP addresses without brackets;
// ports are decimal. The zero value matches everything and changes nothing.
type ConnectTo struct {
	FromHost string // empty: any host
	FromPort string // empty: any port
	ToHost   string // empty: the host stays
	ToPort   string // empty: the port stays
}

// ParseConnectTo reads HOST1:PORT1:HOST2:PORT2, each part of which may be
// empty, with IPv6 addresses in brackets: "a.example:443:127.0.0.1:8443",
// ":80:[::1]:8080". The error names the part that is wrong.
func ParseConnectTo(s string) (ConnectTo, error) {
	parts := splitOutsideBrackets(s)
	if len(parts) != 4 {
		return ConnectTo{}, fmt.Errorf("connect-to %q has %d parts, not the 4 of HOST1:PORT1:HOST2:PORT2 (an IPv6 address goes in brackets)", s, len(parts))
	}
	var c ConnectTo
	var err error
	if c.FromHost, err = parseHost(parts[0]); err != nil {
		return ConnectTo{}, fmt.Errorf("connect-to %q: HOST1: %w", s, err)
	}
	if c.FromPort, err = parsePort(parts[1]); err != nil {
		return ConnectTo{}, fmt.Errorf("connect-to %q: PORT1: %w", s, err)
	}
	if c.ToHost, err = parseHost(parts[2]); err != nil {
		return ConnectTo{}, fmt.Errorf("connect-to %q: HOST2: %w", s, err)
	}
	if c.ToPort, err = parsePort(parts[3]); err != nil {
		return ConnectTo{}, fmt.Errorf("connect-to %q: PORT2: %w", s, err)
	}
	return c, nil
}

// String returns the form that ParseConnectTo reads.
func (c ConnectTo) String() string {
	return bracketed(c.FromHost) + ":" + c.FromPort + ":" + bracketed(c.ToHost) + ":" + c.ToPort
}

// MarshalText returns the form that ParseConnectTo reads.
func (c ConnectTo) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what ParseConnectTo reads. On an error c stays as it is.
func (c *ConnectTo) UnmarshalText(text []byte) error {
	parsed, err := ParseConnectTo(string(text))
	if err == nil {
		*c = parsed
	}
	return err
}

// matches reports whether the rule applies to a host and port as dialled.
func (c ConnectTo) matches(host, port string) bool {
	return (c.FromPort == "" || c.FromPort == port) &&
		(c.FromHost == "" || c.FromHost == canonical(host))
}

// canonical folds a dialled host to the form that rules are kept in.
func canonical(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func parseHost(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	o, err := origin.Parse("http", s)
	if err != nil {
		return "", err
	}
	// IDNA maps octets that are no UTF-8 to an A-label that it does not take
	// back: such a host could be written down but never dialled.
	if again, err := origin.Parse("http", o.Authority()); err != nil || again != o {
		return "", fmt.Errorf("host %q is not a host name: it has octets that no name can have", s)
	}
	return o.Host, nil
}

func parsePort(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if strings.Trim(s, "0123456789") != "" {
		return "", fmt.Errorf("port %q is not a number", s)
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("port %q is not between 1 and 65535", s)
	}
	return strconv.FormatUint(n, 10), nil
}

// splitOutsideBrackets cuts s at each colon that is not inside [ ].
func splitOutsideBrackets(s string) []string {
	var parts []string
	start, inside := 0, false
	for i := range len(s) {
		switch {
		case s[i] == '[':
			inside = true
		case s[i] == ']':
			inside = false
		case s[i] == ':' && !inside:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

func bracketed(host string) string {
	if strings.IndexByte(host, ':') >= 0 {
		return "[" + host + "]"
	}
	return host
}
