// Package bypass tries to get past the built heed: to have a request reach an
// origin that a rule forbids, or to have one denied that no rule forbids.
//
// A row is an idea, by its section and number, such as A1 or E18, and is tried on
// every channel for which it means something:
//
//	P   octets on the proxy's own port
//	C   octets inside a CONNECT to port 80
//	M   octets of HTTP/1.1 inside an intercepted CONNECT to port 443
//	H2  frames of HTTP/2 in one
//
//	go -C e2e test ./bypass -run 'TestBypass/C1/'
//
// The witness is the origin: all octets that reach it, on every connection, inside
// TLS too, are kept as they came. Each trial has a mark of its own in its request,
// and no octet of it may be there where the row says that it does not get through.
// A mark that is to get through must be, with the target as it was sent.
package bypass
