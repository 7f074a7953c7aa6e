package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"heed/internal/origin"
)

// errClosed ends the fetches of a Fetcher that is closed.
var errClosed = errors.New("heed is shutting down")

// maxErr bounds Snapshot.Err: parts of it are the origin's own words.
const maxErr = 500

// PanicError is a panic in a fetch. Event.Err holds it.
type PanicError struct {
	Value any
	Stack []byte
}

func newPanicError(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }

// Error names the value and leaves out the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("a fault in heed itself: panic: %v", e.Value) }

func wrap(o origin.Origin, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fetching %s: %w", o.RobotsURL(), err)
}

// explain says that it was the time that ran out, or heed that ended, where
// the transport reports what it saw of it.
func explain(ctx context.Context, err error) error {
	var dns *net.DNSError
	switch {
	case ctx.Err() == nil && errors.As(err, &dns):
		return starved(err)
	case ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no complete answer in time: %w", err)
	}
	return context.Cause(ctx)
}

// starved adds to a failure to resolve that this machine has no descriptors
// left, if that is so: without them a resolver cannot read its files, and may
// say of any name that it does not exist.
func starved(err error) error {
	null, fault := os.Open(os.DevNull)
	if fault == nil {
		_ = null.Close()
		return err
	}
	return fmt.Errorf("%w: %w", err, fault)
}

// connectionLost reports whether a request failed because the other side was
// not there for it: refused, reset, or closed before an answer began.
func connectionLost(err error) bool {
	for _, lost := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return strings.Contains(err.Error(), "http: server closed idle connection") // net/http exports no value for it
}

// ownFaults are errors of the machine that heed runs on: out of descriptors,
// memory, buffers or local ports, or the network switched off.
var ownFaults = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS,
	syscall.EADDRNOTAVAIL, syscall.ENETDOWN,
}

// lostResolvers are errors of the way to a resolver: it is switched off, or
// nothing leads to it. Of the way to an origin they would be the origin's.
var lostResolvers = []syscall.Errno{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENETUNREACH, syscall.EHOSTUNREACH,
	syscall.EPERM, syscall.EACCES,
}

// blameless is an error that knows whether it says nothing about the origin, as
// that of a proxy on the way there.
type blameless interface {
	error
	Blameless() bool
}

// ours reports whether a failure says nothing about the origin: a fault of
// this machine, of what lies between, a resolver that does not answer, the end
// of heed. It is not remembered as the origin's state.
func ours(err error) bool {
	if err == nil {
		return false
	}
	var other blameless
	if errors.As(err, &other) && other.Blameless() {
		return true
	}
	if errors.Is(err, errClosed) || errors.Is(err, errAbandoned) || errors.Is(err, errResolving) {
		return true
	}
	for _, errno := range ownFaults {
		if errors.Is(err, errno) {
			return true
		}
	}
	var dns *net.DNSError
	if !errors.As(err, &dns) {
		return false
	}
	if dns.IsTimeout {
		return true
	}
	// The resolver keeps the text of an error and drops the error.
	is := func(errno syscall.Errno) bool { return strings.Contains(dns.Err, errno.Error()) }
	return slices.ContainsFunc(ownFaults, is) || slices.ContainsFunc(lostResolvers, is)
}

// keepable returns what of an error stays with the snapshot, for as long as
// that is in memory: all of it, but of a failed verification the words without
// the chain of certificates, of an answer that is not in TLS all but the
// connection, and nothing of a panic with its stack.
func keepable(err error) error {
	var chain *tls.CertificateVerificationError
	var panicked *PanicError
	var plain tls.RecordHeaderError
	var onTheWay blameless // whose TLS, if it is that, is not the origin's
	switch {
	case errors.As(err, &onTheWay):
		return err
	case errors.As(err, &chain):
		return &tls.CertificateVerificationError{Err: errors.New(oneLine(chain.Err))}
	case errors.As(err, &panicked):
		return nil
	case errors.As(err, &plain):
		plain.Conn = nil
		return plain
	}
	return err
}

// brief returns a URL of the origin's choosing fit to stand before a cause, which
// must not be lost behind it.
func brief(url string) string {
	const most = 200
	if len(url) <= most {
		return url
	}
	return strings.ToValidUTF8(url[:most], "") + "…"
}

// oneLine returns the text of an error fit for a field or a log line: of a
// bounded length, without line ends and other control characters.
func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return oneLineOf(err.Error())
}

func oneLineOf(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxErr {
		s = strings.ToValidUTF8(s[:maxErr], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
