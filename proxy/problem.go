package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"syscall"
	"time"

	"heed/internal/dial"
	"heed/internal/roundtrip"
)

// kind is a way in which an exchange ends with an answer of heed's own. Its
// name is the last part of the problem's type (RFC 9457), the reason in log
// lines and a metric's label, so it never changes.
type kind struct {
	name   string
	status int    // 403 a rule, 407 credentials alone, 429 too much of it, 503 robots.txt unreachable, 502 and 504 the origin, 400-class the request
	signal string // error type of Proxy-Status (RFC 9209 §2.3)
	title  string // stable, for people
	after  bool   // the request had been forwarded, or was to be
	down   bool   // the origin as a whole cannot be talked to, its robots.txt neither
}

var (
	kindDisallowed     = &kind{"disallowed", 403, "http_request_denied", "Disallowed by robots.txt", false, false}
	kindOverride       = &kind{"override", 403, "http_request_denied", "Disallowed by the operator of this proxy", false, false}
	kindRestricted     = &kind{"robots-restricted", 403, "http_request_denied", "robots.txt itself is refused", false, false}
	kindDenied         = &kind{"denied", 403, "http_request_denied", "Denied", false, false}
	kindPaced          = &kind{"paced", 429, "http_request_error", "Asked too soon", false, false}
	kindUnreachable    = &kind{"robots-unreachable", 503, "http_request_denied", "robots.txt is unreachable", false, false}
	kindRobotsPending  = &kind{"robots-pending", 503, "http_request_denied", "robots.txt has not arrived yet", false, false}
	kindClientRefused  = &kind{"client-refused", 403, "http_request_denied", "Client may not use this proxy", false, false}
	kindCredentials    = &kind{"credentials", 407, "http_request_denied", "Proxy credentials are missing or wrong", false, false}
	kindIdentity       = &kind{"identity", 403, "http_request_denied", "Client does not say who it is", false, false}
	kindDestination    = &kind{"destination-refused", 403, "http_request_denied", "Host is not for this client", false, false}
	kindQuota          = &kind{"quota", 429, "http_request_error", "Quota used up", false, false}
	kindPortRefused    = &kind{"port-refused", 403, "http_request_denied", "Port may not be tunnelled to", false, false}
	kindTLSDenied      = &kind{"https-denied", 403, "http_request_denied", "https is denied by configuration", false, false}
	kindBadRequest     = &kind{"bad-request", 400, "http_request_error", "Malformed request", false, false}
	kindURITooLong     = &kind{"uri-too-long", 414, "http_request_error", "Request target too long", false, false}
	kindNestedConnect  = &kind{"nested-connect", 405, "http_request_error", "CONNECT inside a tunnel", false, false}
	kindLoop           = &kind{"loop", 508, "proxy_loop_detected", "Loop detected", false, false}
	kindHeaderTooLarge = &kind{"header-too-large", 431, "http_request_error", "Header too large", false, false}
	kindExpectation    = &kind{"expectation", 417, "http_request_error", "Expectation not met", false, false}
	kindTransferCoding = &kind{"transfer-coding", 501, "http_request_error", "Unknown transfer coding", false, false}
	kindBadBody        = &kind{"bad-body", 400, "http_request_error", "Request's body could not be read", true, false}
	kindBodyTimeout    = &kind{"body-timeout", 408, "http_request_error", "Request's body did not come in time", true, false}
	kindVersion        = &kind{"http-version", 505, "http_request_error", "HTTP version not supported", false, false}
	kindInternal       = &kind{"internal", 500, "proxy_internal_error", "heed failed", false, false}
	kindOverload       = &kind{"overload", 503, "proxy_internal_error", "heed has run out of resources", false, false}
	kindNoSuchPage     = &kind{"no-such-page", 404, "http_request_error", "No such page", false, false}

	kindAddress        = &kind{"address-prohibited", 403, "destination_ip_prohibited", "Address may not be connected to", false, false}
	kindDNS            = &kind{"dns-error", 502, "dns_error", "Origin's name did not resolve", true, true}
	kindDNSTimeout     = &kind{"dns-timeout", 504, "dns_timeout", "Name service did not answer", true, true}
	kindRefused        = &kind{"connection-refused", 502, "connection_refused", "Origin refused the connection", true, true}
	kindUnroutable     = &kind{"unroutable", 502, "destination_ip_unroutable", "No route to the origin", true, true}
	kindConnectTimeout = &kind{"connection-timeout", 504, "connection_timeout", "Origin could not be connected to in time", true, true}
	kindCertificate    = &kind{"tls-certificate", 502, "tls_certificate_error", "Origin's certificate was not accepted", true, true}
	kindTLSAlert       = &kind{"tls-alert", 502, "tls_alert_received", "Origin refused the TLS connection", true, true}
	kindTLS            = &kind{"tls-error", 502, "tls_protocol_error", "TLS with the origin failed", true, true}
	kindProxy          = &kind{"proxy-error", 502, "destination_unavailable", "Upstream proxy failed", true, true}
	kindProxyTimeout   = &kind{"proxy-timeout", 504, "connection_timeout", "Upstream proxy did not answer in time", true, true}
	kindAnswerTimeout  = &kind{"response-timeout", 504, "http_response_timeout", "Origin did not answer in time", true, false}
	kindTerminated     = &kind{"connection-terminated", 502, "connection_terminated", "Origin closed the connection", true, false}
	kindBadAnswer      = &kind{"bad-response", 502, "http_protocol_error", "Origin's answer could not be read", true, false}
	kindClientGone     = &kind{"client-gone", 502, "connection_terminated", "Client went away", true, false}
)

// retryPending is when a client should ask again whose robots.txt was still
// being fetched.
const retryPending = 5 * time.Second

// problem is an error that knows what kind it is.
type problem struct {
	kind  *kind
	retry time.Duration // for Retry-After; 0: none
	cause error
}

func (p *problem) Error() string { return p.cause.Error() }
func (p *problem) Unwrap() error { return p.cause }

// retrySeconds is retry as Retry-After has it: never too early.
func (p *problem) retrySeconds() int { return int(math.Ceil(p.retry.Seconds())) }

// problemOf is the one place where an error becomes a kind. The first row that
// fits counts, so the exact causes stand before the general ones.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	for _, row := range causes {
		if row.fits(err) {
			return &problem{kind: row.kind, cause: err}
		}
	}
	return &problem{kind: kindBadAnswer, cause: err}
}

var causes = []struct {
	kind *kind
	fits func(error) bool
}{
	{kindAddress, as[*dial.ProhibitedError]},
	{kindClientGone, func(err error) bool { return errors.Is(err, context.Canceled) }},
	{kindBodyTimeout, ofBody(isTimeout)},
	{kindClientGone, ofBody(isEnd)},
	{kindBadBody, as[*bodyError]},
	{kindBadBody, as[*roundtrip.TrailerError]},
	{kindBadRequest, as[*roundtrip.RequestError]},
	{kindOverload, func(err error) bool {
		return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EADDRNOTAVAIL)
	}},
	{kindProxyTimeout, func(err error) bool {
		var p *dial.ProxyError
		return errors.As(err, &p) && p.Timeout()
	}},
	{kindProxy, as[*dial.ProxyError]},
	{kindDNSTimeout, func(err error) bool {
		var d *net.DNSError
		return errors.As(err, &d) && d.IsTimeout
	}},
	{kindDNS, as[*net.DNSError]},
	{kindRefused, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
	{kindCertificate, as[*tls.CertificateVerificationError]},
	{kindCertificate, as[x509.UnknownAuthorityError]},
	{kindTLSAlert, as[tls.AlertError]},
	{kindTLSAlert, func(err error) bool { return strings.Contains(err.Error(), "remote error: tls:") }},
	{kindTLS, as[tls.RecordHeaderError]},
	{kindConnectTimeout, func(err error) bool { return strings.Contains(err.Error(), "TLS handshake timeout") }}, // net/http has no type for it
	{kindConnectTimeout, func(err error) bool {
		var op *net.OpError
		return errors.As(err, &op) && op.Op == "dial" && op.Timeout()
	}},
	{kindTLS, func(err error) bool { return strings.Contains(err.Error(), "tls: ") }},
	{kindAnswerTimeout, isTimeout},
	{kindUnroutable, func(err error) bool {
		return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
	}},
	{kindTerminated, func(err error) bool { return strings.Contains(err.Error(), "http: server closed idle connection") }}, // nor for this
	{kindTerminated, isEnd},
	{kindTerminated, func(err error) bool { // HTTP/2: a stream that the origin reset, or a GOAWAY
		text := err.Error()
		return strings.HasSuffix(text, "received from peer") || strings.Contains(text, "GOAWAY")
	}},
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// isEnd reports whether an error is that of a connection that ended.
func isEnd(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// ofBody is for errors of a request's body alone.
func ofBody(fits func(error) bool) func(error) bool {
	return func(err error) bool { return as[*bodyError](err) && fits(err) }
}

func as[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}
