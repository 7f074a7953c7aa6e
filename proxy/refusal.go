package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"heed/internal/origin"
)

// What became of the TLS of a client that got nowhere, in the log and in
// heed_client_tls_failures_total. There are no other values.
const (
	tlsRefused  = "refused"  // the client says that it does not accept heed's certificate
	tlsLeft     = "left"     // the client went away when it had seen it, without a word
	tlsAlert    = "alert"    // the client ended the handshake for another reason
	tlsTimeout  = "timeout"  // the handshake was not over in time
	tlsClosed   = "closed"   // the client went away before it had seen a certificate, or heed ended
	tlsProtocol = "protocol" // what the client sent cannot be read, or nothing in it suits
)

// trustHint is what to do where a client does not trust heed.
const trustHint = "let the client trust heed's CA: see `heed env`, `heed ca export`, or http://" + Host +
	"/. A client that pins certificates needs its host in https.exceptions with mode tunnel"

// certificateAlerts are what a client says of a certificate that it does not
// accept (RFC 8446 §6.2), as crypto/tls words them.
var certificateAlerts = []string{
	"bad certificate", "unsupported certificate", "revoked certificate", "expired certificate",
	"unknown certificate", "unknown certificate authority",
}

// tlsFailure says why TLS with a client came to nothing. Seen is whether the
// client had been sent a certificate.
func tlsFailure(err error, seen bool) string {
	var op *net.OpError
	gone := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	switch {
	case errors.As(err, &op) && op.Op == "remote error":
		text := strings.TrimPrefix(op.Err.Error(), "tls: ")
		for _, alert := range certificateAlerts {
			if text == alert {
				return tlsRefused
			}
		}
		if seen && text == "user canceled" {
			return tlsLeft
		}
		return tlsAlert
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return tlsTimeout
	case gone && seen:
		return tlsLeft
	case gone, errors.Is(err, net.ErrClosed): // which is heed's own doing, at its end
		return tlsClosed
	default:
		return tlsProtocol
	}
}

// tlsFailed counts TLS that came to nothing, and says what matters to people:
// that a client does not trust heed's CA.
func (p *Proxy) tlsFailed(o origin.Origin, failure string, err error) {
	defer p.TLSFailed(failure) // who sees it counted finds the line
	line := p.Log.Debug()
	say := "TLS with a client failed"
	switch failure {
	case tlsRefused:
		line, say = p.Log.Warn().Str("hint", trustHint), "client refused heed's certificate"
	case tlsLeft:
		line, say = p.Log.Warn().Str("hint", trustHint), "client went away when it had seen heed's certificate: perhaps it does not trust it"
	}
	line.Err(err).Stringer("origin", o).Str("failure", failure).Msg(say)
}

// leaveTime is how soon after a handshake a client goes away that does not
// like the certificate. Node and GnuTLS look at it only then, and say nothing.
// Browsers open connections that they do not use, and keep them for longer.
const leaveTime = time.Second

// followConn watches the connections in HTTP/2.
func (p *Proxy) followConn(c net.Conn, s http.ConnState) {
	secure, ok := c.(*tls.Conn)
	if !ok || s == http.StateNew {
		return
	}
	below, ok := secure.NetConn().(*clientConn)
	if !ok || below.tunnel.used {
		return
	}
	below.tunnel.used = true // whatever it is, it is looked at once
	if s == http.StateClosed {
		p.followLeave(secure, below.tunnel)
		return
	}
	p.begun.note(below.tunnel)
}

// followLeave looks at a connection that ended after the handshake and before its
// first request. A client that resumed a session has accepted heed before, and so
// has one that goes on with another connection.
func (p *Proxy) followLeave(secure *tls.Conn, t *tunnel) {
	if secure.ConnectionState().DidResume || time.Since(t.shaken) > leaveTime {
		return
	}
	_ = secure.SetReadDeadline(time.Unix(1, 0))
	_, err := secure.Read(make([]byte, 1)) // what ended it is remembered
	failure := tlsFailure(err, true)
	if failure == tlsLeft && secure.ConnectionState().NegotiatedProtocol == "h2" && p.begun.spare(t) {
		return
	}
	if failure == tlsRefused || failure == tlsLeft {
		p.tlsFailed(t.origin, failure, err)
	}
}

// alertConn remembers the end of what a client sent in its handshake. OpenSSL,
// and with it curl and Python, refuses a certificate of TLS 1.3 by an alert in
// plain text, where crypto/tls expects all to be encrypted and finds nothing
// but a bad record.
type alertConn struct {
	*rawConn
	over bool // the handshake is; only its goroutine touches this before, and none after
	last [alertRecord]byte
}

// alertRecord is the length of an alert in plain text (RFC 8446 §5.1, §6):
// type, version, length, level, description.
const alertRecord = 7

func (c *alertConn) Read(b []byte) (int, error) {
	n, err := c.rawConn.Read(b)
	if !c.over {
		kept := copy(c.last[:], c.last[min(n, alertRecord):])
		copy(c.last[kept:], b[max(0, n-alertRecord):n])
	}
	return n, err
}

// alert is what the client said last, in the words of crypto/tls, if that was
// an alert in plain text.
func (c *alertConn) alert() error {
	if c.last[0] != 0x15 || c.last[1] != 3 || c.last[3] != 0 || c.last[4] != 2 {
		return nil
	}
	return &net.OpError{Op: "remote error", Err: tls.AlertError(c.last[6])}
}
