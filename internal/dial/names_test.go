package dial

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a DNS server on loopback. It answers A and AAAA questions with
// the addresses that it is given for a name; "silence" in place of one makes
// it say nothing, "fault" makes it fail (RFC 1035 §4.1.1, RCODE 2), and no
// address at all means that the name does not exist.
type nameServer struct {
	conn   net.PacketConn
	answer func(name string) []string

	mu    sync.Mutex
	asked map[string]int // questions by name; A and AAAA of one lookup are two
	conns []net.Conn     // of resolvers, which wait for seconds for what never comes
}

func serveNames(t testing.TB, answer func(name string) []string) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, answer: answer, asked: map[string]int{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve()
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.conns {
			_ = c.Close()
		}
	})
	return s
}

func answers(addrs ...string) func(string) []string {
	return func(string) []string { return addrs }
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		name := strings.TrimSuffix(m.Questions[0].Name.String(), ".")
		s.mu.Lock()
		s.asked[name]++
		s.mu.Unlock()
		if reply, ok := s.reply(m, s.answer(name)); ok {
			_, _ = s.conn.WriteTo(reply, from)
		}
	}
}

func (s *nameServer) reply(m dnsmessage.Message, addrs []string) ([]byte, bool) {
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	q := m.Questions[0]
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}
	if len(addrs) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		switch a {
		case "silence":
			return nil, false
		case "fault":
			m.RCode = dnsmessage.RCodeServerFailure
			continue
		}
		addr := netip.MustParseAddr(a)
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	b, err := m.Pack()
	return b, err == nil
}

// lookups is how often a name was resolved.
func (s *nameServer) lookups(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (s.asked[name] + 1) / 2
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var nd net.Dialer
		c, err := nd.DialContext(ctx, "udp", s.conn.LocalAddr().String())
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns = append(s.conns, c)
		return c, nil
	}}
}

// age makes an answer that is remembered older.
func age(d *Dialer, name string, by time.Duration) {
	a, ok := d.names.known.Peek(name)
	if !ok {
		panic("nothing is remembered of " + name)
	}
	a.asked, a.until = a.asked.Add(-by), a.until.Add(-by)
	d.names.known.Add(name, a)
}

func addrs(s ...string) []netip.Addr {
	var all []netip.Addr
	for _, a := range s {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}
