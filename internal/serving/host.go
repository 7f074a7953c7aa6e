package serving

import (
	"bytes"
	"net/netip"
)

// isHost reports whether a value can be that of a Host field: a name or an address,
// with a port or without, or nothing (RFC 9112 §3.2, RFC 3986 §3.2.2). Of what a
// name can have by the grammar the octets are left out that would make two of it.
func isHost(value []byte) bool {
	host, port := value, []byte(nil)
	if end := bytes.LastIndexByte(value, ']'); end >= 0 {
		host, port = value[:end+1], value[end+1:]
	} else if colon := bytes.IndexByte(value, ':'); colon >= 0 {
		host, port = value[:colon], value[colon:]
	}
	if len(port) > 0 && port[0] != ':' {
		return false
	}
	for _, c := range port[min(1, len(port)):] {
		if c < '0' || '9' < c {
			return false
		}
	}
	if len(host) > 1 && host[0] == '[' {
		addr, err := netip.ParseAddr(string(host[1 : len(host)-1]))
		return err == nil && addr.Is6() && addr.Zone() == ""
	}
	for _, c := range host {
		if c <= ' ' || c >= 0x7f || bytes.IndexByte([]byte("\"#,/:;<>?@[\\]^`{|}"), c) >= 0 {
			return false
		}
	}
	return true
}
