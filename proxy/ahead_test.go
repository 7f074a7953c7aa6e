package proxy

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"
	"testing"
	"time"

	"heed/internal/ca"
	"heed/internal/origin"
	"heed/policy"
)

// slowLeaves are leaves that take their time, and tell when they are asked for.
type slowLeaves struct {
	Leaves
	mu    sync.Mutex
	asked []string
	made  chan struct{}
}

func (l *slowLeaves) Certificate(host string) (*tls.Certificate, error) {
	l.mu.Lock()
	l.asked = append(l.asked, host)
	l.mu.Unlock()
	leaf, err := l.Leaves.Certificate(host)
	select {
	case l.made <- struct{}{}:
	default:
	}
	return leaf, err
}

// TestLeafIsMadeAheadOfTheHandshake: when the client has its 200 and has sent
// nothing yet. It is made once.
func TestLeafIsMadeAheadOfTheHandshake(t *testing.T) {
	leaves := &slowLeaves{made: make(chan struct{}, 1)}
	r := start(t, func(c *Config) { leaves.Leaves, c.Leaves = c.Leaves, leaves })
	for range 3 {
		w := r.connect(t, "a.example:443")
		eventually(t, "the leaf is kept", func() bool { return leaves.Kept("a.example") })
		_ = w.Close()
	}
	leaves.mu.Lock()
	defer leaves.mu.Unlock()
	if len(leaves.asked) != 1 || leaves.asked[0] != "a.example" {
		t.Errorf("leaves were asked for: %q, want a.example once", leaves.asked)
	}
}

// TestNoLeafIsMadeThatIsNotNeeded: for plain HTTP, and where TLS is not read.
func TestNoLeafIsMadeThatIsNotNeeded(t *testing.T) {
	for _, tt := range []struct {
		why       string
		mode      Mode
		authority string
	}{
		{"plain HTTP, as the port says", Intercept, "a.example:80"},
		{"a tunnel that is relayed", Tunnel, hostOf(newTLSOrigin(t, false, nil))},
	} {
		leaves := &slowLeaves{made: make(chan struct{}, 1)}
		r := start(t, modeIs(tt.mode), func(c *Config) { leaves.Leaves, c.Leaves = c.Leaves, leaves })
		r.connect(t, tt.authority)
		select {
		case <-leaves.made:
			t.Errorf("%s: a leaf was made", tt.why)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// asking are policies that know nothing, and tell what they are asked to fetch.
type asking struct {
	begun chan origin.Origin
	rest  *policies
	until chan struct{} // the fetch is over
	left  chan error    // how a caller left before
}

// Remembered has nothing until the fetch is over.
func (a *asking) Remembered(o origin.Origin, now time.Time) (policy.Snapshot, bool) {
	select {
	case <-a.until:
		return a.rest.Remembered(o, now)
	default:
		return policy.Snapshot{}, false
	}
}

func (a *asking) Snapshot(ctx context.Context, o origin.Origin) (policy.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return policy.Snapshot{}, err
	}
	a.begun <- o
	select {
	case <-a.until:
		return a.rest.Snapshot(ctx, o)
	case <-ctx.Done():
		a.left <- ctx.Err()
		return policy.Snapshot{}, ctx.Err()
	}
}

func (a *asking) Await(ctx context.Context, o origin.Origin, p Patience) (policy.Snapshot, Held, error) {
	return awaitUnpaced(ctx, a, o, p)
}

func newAsking() *asking {
	return &asking{begun: make(chan origin.Origin, 10), rest: new(policies), until: make(chan struct{}), left: make(chan error, 10)}
}

// TestRobotsTxtIsAskedForDuringTheHandshake, once the client has begun one; it
// need not have sent a request.
func TestRobotsTxtIsAskedForDuringTheHandshake(t *testing.T) {
	a := newAsking()
	r := start(t, func(c *Config) { c.Policies = a })
	w := r.connect(t, "a.example:443")
	select {
	case o := <-a.begun:
		t.Fatalf("the robots.txt of %s is fetched for a CONNECT alone", o)
	case <-time.After(20 * time.Millisecond):
	}
	r.secure(t, w, "a.example")
	select {
	case o := <-a.begun:
		if o.String() != "https://a.example" {
			t.Errorf("the robots.txt of %s is fetched", o)
		}
	case <-time.After(patience):
		t.Fatal("no robots.txt is fetched before the request")
	}
	if err := await(t, "Shutdown", r.shutdown(t, 50*time.Millisecond)); err != nil && r.proxy.Tunnels() > 0 {
		t.Errorf("Shutdown: %v", err)
	}
	if err := await(t, "the fetch", a.left); err == nil {
		t.Error("what was begun ahead outlives the proxy")
	}
}

// TestRobotsTxtIsNotAskedForAhead where no request can need it.
func TestRobotsTxtIsNotAskedForAhead(t *testing.T) {
	for _, tt := range []struct {
		why, authority, sni string
		set                 func(*Config)
	}{
		{"heed's own pages", Host + ":443", Host, func(*Config) {}},
		{"another SNI than the CONNECT's", "a.example:443", "b.example", func(*Config) {}},
		{"the operator decides", "a.example:443", "a.example", func(c *Config) {
			overriding(t, operator("a.example", policy.DisallowOrigin, ""))(c)
		}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			a := newAsking()
			close(a.until)
			r := start(t, tt.set, func(c *Config) { c.Policies = a })
			r.secure(t, r.connect(t, tt.authority), tt.sni)
			select {
			case o := <-a.begun:
				t.Errorf("the robots.txt of %s is fetched", o)
			case <-time.After(20 * time.Millisecond):
			}
		})
	}
}

// BenchmarkHandshake is the time of a client from its CONNECT to the end of its
// handshake, with a leaf that is kept and with one that is yet to be made.
func BenchmarkHandshake(b *testing.B) {
	for _, kept := range []bool{true, false} {
		name := "leaf to be made"
		if kept {
			name = "leaf kept"
		}
		b.Run(name, func(b *testing.B) {
			r := start(b)
			leaves := r.proxy.Leaves
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				if !kept {
					leaves = ca.NewIssuer(r.ca, 1)
					_, _ = leaves.Certificate("other.example") // its key
				}
				r.proxy.Leaves = leaves
				b.StartTimer()
				w := r.dial(b)
				if a := w.send(b, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"); a.StatusCode != http.StatusOK {
					b.Fatal(a.Status)
				}
				c := tls.Client(w.Conn, &tls.Config{ServerName: "a.example", InsecureSkipVerify: true})
				if err := c.HandshakeContext(b.Context()); err != nil {
					b.Fatal(err)
				}
				_ = c.Close()
			}
		})
	}
}
