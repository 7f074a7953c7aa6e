package e2e

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/e2e/root"
)

// heed must be invisible: what one end sends is what the other gets, on every
// channel and in every version of HTTP on either side. The files fidelity_…
// hold that as tables of properties, each tried over every way for which it
// has a meaning.

// channel is how a request comes to heed.
type channel string

const (
	plain       channel = "plain"       // absolute-form, http
	secure      channel = "secure"      // absolute-form, https: heed alone speaks TLS
	tunnelled   channel = "tunnelled"   // http inside a CONNECT
	intercepted channel = "intercepted" // https inside a CONNECT
)

// version is that of HTTP on one side.
type version string

const (
	http10 version = "1.0"
	http11 version = "1.1"
	http2  version = "2"
	both   version = "both" // of an origin that takes either
)

// way is one combination of what is spoken on either side of heed.
type way struct {
	channel channel
	client  version
	origin  version
}

func (w way) String() string { return fmt.Sprintf("%s,%s-%s", w.channel, w.client, w.origin) }

// overTLS reports whether the origin speaks TLS.
func (w way) overTLS() bool { return w.channel == secure || w.channel == intercepted }

// ways are all there are. Without TLS there is no HTTP/2, on neither side:
// clients and servers agree on it inside TLS alone.
var ways = []way{
	{plain, http10, http11},
	{plain, http11, http11},
	{secure, http11, http11},
	{secure, http11, http2},
	{tunnelled, http10, http11},
	{tunnelled, http11, http11},
	{intercepted, http10, http11},
	{intercepted, http10, http2},
	{intercepted, http11, http11},
	{intercepted, http11, http2},
	{intercepted, http2, http11},
	{intercepted, http2, http2},
}

// property is one thing that holds with heed in between as it does without.
type property struct {
	name string
	// old says what HTTP/1.0 is to a property of it: those are tried over the
	// ways of a client of HTTP/1.0, all others over the rest.
	old string
	// not says why a way is ruled out, "" where it is not; nil: none is.
	not   func(way) string
	holds func(*trial) error
}

// octetsCount are the ways on which octets can be compared from end to end.
func octetsCount(w way) string {
	if w.client == http2 || w.origin == http2 {
		return "HTTP/2 has no such octets: its fields are compressed, in lower case, and have no reason phrase"
	}
	return ""
}

// originHTTP1 are the ways on which the origin is played octet by octet.
func originHTTP1(w way) string {
	if w.origin == http2 {
		return "what the origin does here is a matter of HTTP/1.1's framing"
	}
	return ""
}

// clientHTTP1 are the ways on which the client is played octet by octet.
func clientHTTP1(w way) string {
	if w.client == http2 {
		return "what the client does here is a matter of HTTP/1.1's connections"
	}
	return ""
}

// stand is a heed for the trials of one test.
type stand struct {
	heed  *heed
	root  *root.Root     // vouches for the origins
	trust *x509.CertPool // heed's CA alone
}

// newStand starts a heed by which every name leads to this machine, to the
// port that the URL names.
func newStand(t *testing.T) *stand {
	t.Helper()
	root := newTestRoot(t)
	file := filepath.Join(t.TempDir(), "test-root.pem")
	if err := os.WriteFile(file, root.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	// All trials ask one host, and at a time.
	settings := filepath.Join(t.TempDir(), "heed.yaml")
	if err := os.WriteFile(settings, []byte("pace: {per_origin: 0, per_address: 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startHeed(t, []string{"SSL_CERT_FILE=" + file}, "--config", settings, "--connect-to", "::127.0.0.1:", "--allow-address", "127.0.0.0/8")
	return &stand{heed: h, root: root, trust: h.roots(t)}
}

// trial is one property on one way.
type trial struct {
	*stand
	way
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	faults []error // what the origin saw of it, which has goroutines of its own
}

// patience is how long a trial may take: of a heed with the race detector, which
// is several times as slow, longer. hurry is for a property that heed does not
// have.
var (
	patience = map[bool]time.Duration{false: 30 * time.Second, true: 2 * time.Minute}[os.Getenv("HEED_E2E_RACE") == "1"]
	hurry    = time.Second
)

// soon is what becomes of a second, which is what heed takes at most to notice that
// somebody has gone, on a machine that does other things.
const soon = 3 * time.Second

// faultf notes what does not hold; it may be called on any goroutine.
func (r *trial) faultf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

// tryAll starts a heed and tries each property over its ways, at once.
func tryAll(t *testing.T, properties []property) {
	t.Parallel()
	s := newStand(t)
	t.Run("of", func(t *testing.T) { s.tryOn(t, properties) })
}

// tryOn is tryAll with a heed that runs.
func (s *stand) tryOn(t *testing.T, properties []property) {
	for _, p := range properties {
		for _, w := range p.ways() {
			t.Run(p.name+"/"+w.String(), func(t *testing.T) {
				t.Parallel()
				weigh(t, p.name, w, s.try(t, p, w))
			})
		}
	}
}

func (p property) ways() []way {
	var over []way
	for _, w := range ways {
		if (w.client == http10) == (p.old != "") && (p.not == nil || p.not(w) == "") {
			over = append(over, w)
		}
	}
	return over
}

func (s *stand) try(t *testing.T, p property, w way) error {
	limit := patience
	if known(p.name, w) != nil {
		limit = hurry
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	r := &trial{stand: s, way: w, t: t, ctx: ctx}
	err := p.holds(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(append([]error{err}, r.faults...)...)
}

// gap is a property that heed does not have yet.
type gap struct {
	property string
	over     []string // the ways, as they are printed; nil: all
	why      string
}

// known returns the gap that a property is on a way, nil if it is none.
func known(name string, w way) *gap {
	for i, g := range notYet {
		if g.property == name && (g.over == nil || slices.Contains(g.over, w.String())) {
			return &notYet[i]
		}
	}
	return nil
}

// weigh fails the test if a property does not hold, unless it is known; and if
// one holds that is listed as if it did not.
func weigh(t *testing.T, name string, w way, err error) {
	t.Helper()
	switch g := known(name, w); {
	case g == nil && err != nil:
		t.Error(err)
	case g != nil && err == nil:
		t.Errorf("it holds: take it off notYet (%s)", g.why)
	case g != nil:
		t.Logf("not yet (%s): %v", g.why, err)
	}
}

// TestGapsAreOfProperties: a gap that names nothing would hide nothing, and
// stay for ever.
func TestGapsAreOfProperties(t *testing.T) {
	for _, g := range notYet {
		found := false
		for _, p := range slices.Concat(
			methodProperties, fieldProperties, targetProperties, connectionProperties, bodyProperties,
			interimProperties, streamProperties, webSocketProperties, oldProperties,
		) {
			found = found || p.name == g.property
		}
		if !found {
			t.Errorf("no property is called %q", g.property)
		}
		for _, w := range g.over {
			if !slices.ContainsFunc(ways, func(known way) bool { return known.String() == w }) {
				t.Errorf("%s: there is no way %q", g.property, w)
			}
		}
		if strings.TrimSpace(g.why) == "" {
			t.Errorf("%s: a gap says why it is there", g.property)
		}
	}
}

// lastModified is that of what origins serve.
var lastModified = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
