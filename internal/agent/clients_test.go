package agent

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"heed/internal/network"
	"heed/policy"
)

// hashOf returns the hash of a password at the least cost.
func hashOf(t testing.TB, password string) Hash {
	t.Helper()
	b, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHash(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func basic(text string) []string {
	return []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(text))}
}

var somewhere = netip.MustParseAddr("192.0.2.1")

// two clients with passwords.
func two(t testing.TB) (c *Clients, news, shop *Client) {
	t.Helper()
	news, shop = &Client{Name: "news"}, &Client{Name: "shop"}
	return NewClients([]Known{
		{Client: news, Hash: hashOf(t, "s3cret:with a colon")},
		{Client: shop, Hash: hashOf(t, strings.Repeat("ü", 36))},
		{Client: &Client{Name: "addressed"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	}), news, shop
}

func TestCredentialsAreThoseOfOneClient(t *testing.T) {
	c, news, shop := two(t)
	long := strings.Repeat("ü", 36)
	for _, row := range []struct {
		why    string
		fields []string
		want   *Client
		err    error
	}{
		{"the right ones", basic("news:s3cret:with a colon"), news, nil},
		{"the scheme has no case", []string{strings.Replace(basic("news:s3cret:with a colon")[0], "Basic", "bAsIC", 1)}, news, nil},
		{"72 octets, all of which count", basic("shop:" + long), shop, nil},
		{"of a longer password bcrypt sees the first 72 octets", basic("shop:" + long + "x"), nil, ErrWrong},
		{"bcrypt goes round with a NUL between, so that this is the same to it", basic("news:s3cret:with a colon\x00s3cret:with a colon"), nil, ErrWrong},
		{"a wrong password", basic("news:S3cret:with a colon"), nil, ErrWrong},
		{"another's password", basic("news:" + long), nil, ErrWrong},
		{"another case of the name", basic("News:s3cret:with a colon"), nil, ErrWrong},
		{"nobody", basic("nobody:s3cret:with a colon"), nil, ErrWrong},
		{"nobody, with a password of somebody", basic("nobody:" + long), nil, ErrWrong},
		{"one without a password", basic("addressed:"), nil, ErrWrong},
		{"no name", basic(":s3cret:with a colon"), nil, ErrWrong},
		{"no password", basic("news:"), nil, ErrWrong},
		{"nothing at all", basic(":"), nil, ErrWrong},
		{"no colon", basic("news"), nil, ErrScheme},
		{"no base64", []string{"Basic news:s3cret"}, nil, ErrScheme},
		{"base64 cut short", []string{strings.TrimRight(basic("news:s3cret:with a colon")[0], "=")[:20]}, nil, ErrScheme},
		{"another scheme", []string{"Bearer bmV3czpzM2NyZXQ="}, nil, ErrScheme},
		{"Digest", []string{`Digest username="news", realm="heed"`}, nil, ErrScheme},
		{"a scheme alone", []string{"Basic"}, nil, ErrScheme},
		{"an empty field", []string{""}, nil, ErrScheme},
		{"two fields, which need not say the same", append(basic("news:s3cret:with a colon"), basic("shop:"+long)...), nil, ErrScheme},
		{"a field that is far too long", basic("news:" + strings.Repeat("x", mostField)), nil, ErrScheme},
	} {
		for _, time := range []string{"the first time", "again"} {
			got, err := c.Authenticate(row.fields, somewhere)
			if got != row.want || !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
				t.Errorf("%s, %s: client %v, error %v; want %v, %v", row.why, time, got, err, row.want, row.err)
			}
		}
	}
}

func TestWithoutPasswordsCredentialsAreNobodys(t *testing.T) {
	for _, c := range []*Clients{nil, NewClients([]Known{{Client: &Client{Name: "a"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}})} {
		if client, err := c.Authenticate(basic("a:b"), somewhere); client != nil || err != nil || c.HavePasswords() {
			t.Errorf("client %v, error %v, passwords %t", client, err, c.HavePasswords())
		}
	}
}

func TestKnownCredentialsTakeNoMemory(t *testing.T) {
	c, news, _ := two(t)
	fields := basic("news:s3cret:with a colon")
	if n := testing.AllocsPerRun(100, func() {
		if client, err := c.Authenticate(fields, somewhere); client != news || err != nil {
			t.Fatal(client, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	at := netip.MustParseAddr("10.1.2.3")
	if n := testing.AllocsPerRun(100, func() { c.At(at) }); n != 0 {
		t.Errorf("by address: %v allocations, want none", n)
	}
}

// TestTheSameCredentialsAtOnceAreVerifiedOnce: of fifty connections that come
// together one waits for a turn, the others for it.
func TestTheSameCredentialsAtOnceAreVerifiedOnce(t *testing.T) {
	for _, password := range []string{"right", "wrong"} {
		synctest.Test(t, func(t *testing.T) {
			c, client := slow(t)
			p := c.passwords
			var all sync.WaitGroup
			release := occupy(p)
			for range 50 {
				all.Go(func() {
					got, err := c.Authenticate(basic("news:"+password), somewhere)
					if password == "right" && (got != client || err != nil) || password == "wrong" && !errors.Is(err, ErrWrong) {
						t.Errorf("%s: %v, %v", password, got, err)
					}
				})
			}
			synctest.Wait()
			if l := p.turns.lines[network.Of(somewhere)]; l == nil || l.waiting != 1 || len(p.pending) != 1 {
				t.Errorf("of %q the line is %+v, %d verifications; want one of each", password, l, len(p.pending))
			}
			release()
			all.Wait()
			if len(p.pending) != 0 || len(p.turns.lines) != 0 {
				t.Errorf("%d verifications and %d lines are left", len(p.pending), len(p.turns.lines))
			}
		})
	}
}

func slow(t *testing.T) (*Clients, *Client) {
	client := &Client{Name: "news"}
	return NewClients([]Known{{Client: client, Hash: hashOf(t, "right")}}), client
}

// occupy takes every slot, and returns what gives them back.
func occupy(p *passwords) (release func()) {
	for range cap(p.turns.slots) {
		p.turns.slots <- struct{}{}
	}
	return func() {
		for range cap(p.turns.slots) {
			<-p.turns.slots
		}
	}
}

// TestAFloodFromOneAddressDoesNotKeepAnotherWaiting: each address has one turn at
// a time.
func TestAFloodFromOneAddressDoesNotKeepAnotherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTurns()
		ts.slots = make(chan struct{}, 1)
		const flood, each = 100, 10 * time.Millisecond
		take := func(from string) bool {
			leave, ok := ts.take(netip.MustParseAddr(from), patience)
			if ok {
				time.Sleep(each)
				leave()
			}
			return ok
		}
		var all sync.WaitGroup
		for range flood {
			all.Go(func() {
				if !take("192.0.2.1") {
					t.Error("a turn did not come within a second")
				}
			})
		}
		synctest.Wait()
		begun := time.Now()
		if !take("192.0.2.2") {
			t.Error("no turn for another address")
		}
		if took := time.Since(begun); took > 3*each {
			t.Errorf("another address waited %v behind a flood, want two turns and its own at most", took)
		}
		all.Wait()
		if len(ts.lines) != 0 {
			t.Errorf("%d lines are left", len(ts.lines))
		}
	})
}

// TestWhoGivesUpLetsTheNextOneOn: the second of an address waits behind the first
// no longer than that does.
func TestWhoGivesUpLetsTheNextOneOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTurns()
		ts.slots = make(chan struct{}, 1)
		ts.slots <- struct{}{}
		got := make(chan bool, 2)
		for range 2 {
			go func() {
				leave, ok := ts.take(somewhere, patience)
				if ok {
					leave()
				}
				got <- ok
			}()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		if <-got {
			t.Error("the first had a turn that was taken")
		}
		<-ts.slots
		if !<-got {
			t.Error("the second had no turn when there was one")
		}
		if len(ts.lines) != 0 {
			t.Errorf("%d lines are left", len(ts.lines))
		}
	})
}

func TestWhoseTurnDoesNotComeIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := slow(t)
		hold := occupy(c.passwords)
		begun := time.Now()
		var all sync.WaitGroup
		for _, from := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2"} {
			for _, password := range []string{"right", "wrong"} {
				all.Go(func() {
					if _, err := c.Authenticate(basic("news:"+password), netip.MustParseAddr(from)); !errors.Is(err, ErrBusy) {
						t.Errorf("error %v, want ErrBusy", err)
					}
				})
			}
		}
		all.Wait()
		if took := time.Since(begun); took != patience {
			t.Errorf("it took %v, want %v", took, patience)
		}
		hold()
		if got, err := c.Authenticate(basic("news:right"), somewhere); got != client || err != nil {
			t.Errorf("afterwards: %v, %v; being busy must not be remembered", got, err)
		}
	})
}

func TestWrongCredentialsAreForgottenBeforeTheyAreTooMany(t *testing.T) {
	c, _ := slow(t)
	p := c.passwords
	for i := range mostWrong {
		p.wrong[digest{byte(i), byte(i >> 8)}] = struct{}{}
	}
	if _, err := c.Authenticate(basic("news:wrong"), somewhere); !errors.Is(err, ErrWrong) {
		t.Fatal(err)
	}
	if len(p.wrong) != 1 {
		t.Errorf("%d are remembered", len(p.wrong))
	}
}

// TestANameThatIsUnknownIsHeldAgainstAHash, one of the same cost as that of a
// client, and the same one each time.
func TestANameThatIsUnknownIsHeldAgainstAHash(t *testing.T) {
	c, _, _ := two(t)
	p := c.passwords
	if len(p.any) != 2 {
		t.Fatalf("%d hashes", len(p.any))
	}
	if got := p.verify("nobody", []byte("s3cret:with a colon")); got != nil {
		t.Errorf("nobody is %s", got.Name)
	}
	if got := p.verify("nobody", []byte(strings.Repeat("ü", 36))); got != nil {
		t.Errorf("nobody is %s", got.Name)
	}
}

func TestTheLongestRangeCounts(t *testing.T) {
	client := func(name string, ranges ...string) Known {
		k := Known{Client: &Client{Name: name}}
		for _, r := range ranges {
			k.Addresses = append(k.Addresses, netip.MustParsePrefix(r))
		}
		return k
	}
	c := NewClients([]Known{
		client("lab", "10.0.0.0/8", "fd00::/8"), client("news", "10.1.0.0/16"), client("one", "10.1.2.3/32", "fd00::1/128"), client("here", "127.0.0.0/8"),
	})
	for _, row := range []struct{ addr, want, why string }{
		{"10.0.0.1", "lab", "in the network"},
		{"9.255.255.255", "", "just below it"},
		{"11.0.0.0", "", "just above it"},
		{"10.1.0.0", "news", "the first of the nested one"},
		{"10.1.255.255", "news", "the last"},
		{"10.2.0.0", "lab", "just above the nested one"},
		{"10.1.2.3", "one", "one machine"},
		{"10.1.2.4", "news", "its neighbour"},
		{"127.0.0.1", "here", "loopback may have a name"},
		{"fd12::1", "lab", "IPv6"},
		{"fd00::1", "one", "one machine in IPv6"},
		{"::1", "", "IPv6's loopback is no part of IPv4's"},
		{"::ffff:10.1.2.3", "", "whoever asks has it unmapped"},
		{"fd00::1%eth0", "", "a zone is in no range"},
	} {
		got := ""
		if client := c.At(netip.MustParseAddr(row.addr)); client != nil {
			got = client.Name
		}
		if got != row.want {
			t.Errorf("%s is %q, want %q: %s", row.addr, got, row.want, row.why)
		}
	}
	if c.At(netip.Addr{}) != nil || (*Clients)(nil).At(somewhere) != nil {
		t.Error("no address, or no clients, is somebody")
	}
}

func TestTheTokenOfAClientGoesBeforeThoseThatOriginsSee(t *testing.T) {
	for _, row := range []struct {
		why        string
		client     *Client
		userAgents []string
		main, also []string
		fields     []string
	}{
		{"nobody", nil, []string{"ExampleBot/1.0"}, []string{"ExampleBot"}, nil, []string{"ExampleBot/1.0"}},
		{"a name alone", &Client{}, []string{"ExampleBot/1.0"}, []string{"ExampleBot"}, nil, []string{"ExampleBot/1.0"}},
		{"a token before a User-Agent that goes out", &Client{Token: "NewsBot"}, []string{"python-requests/2.32"}, []string{"NewsBot"}, []string{"python-requests"}, []string{"python-requests/2.32"}},
		{"a token that the User-Agent has", &Client{Token: "NewsBot"}, []string{"newsbot/1.0 (evil)"}, []string{"NewsBot"}, []string{"evil"}, []string{"newsbot/1.0 (evil)"}},
		{"a token for a browser", &Client{Token: "NewsBot"}, []string{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36"}, []string{"NewsBot"}, nil, []string{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36"}},
		{"a token for none", &Client{Token: "NewsBot"}, nil, []string{"NewsBot"}, nil, nil},
		{"two fields, one without a name", &Client{Token: "NewsBot"}, []string{"a/1 b/2", "Mozilla/5.0 (x)"}, []string{"NewsBot"}, []string{"a", "x", "b"}, []string{"a/1 b/2", "Mozilla/5.0 (x)"}},
		{"what nobody sees does not count", &Client{Token: "NewsBot", UserAgent: "NewsBot/1.0"}, []string{"python-requests/2.32"}, []string{"NewsBot"}, nil, []string{"NewsBot/1.0"}},
		{"a User-Agent alone", &Client{UserAgent: "NewsBot/1.0 lib/2"}, []string{"python-requests/2.32"}, []string{"NewsBot"}, []string{"lib"}, []string{"NewsBot/1.0 lib/2"}},
		{"another token than that of the field", &Client{Token: "NewsBot", UserAgent: "lib/2"}, nil, []string{"NewsBot"}, []string{"lib"}, []string{"lib/2"}},
	} {
		got := row.client.Tokens(row.userAgents)
		if want := (policy.Tokens{Main: row.main, Also: row.also, Fields: row.fields}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", row.why, got, want)
		}
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	c, _, _ := two(b)
	fields := basic("news:s3cret:with a colon")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Authenticate(fields, somewhere)
	}
}
