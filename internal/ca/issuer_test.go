package ca

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func certificate(t *testing.T, i *Issuer, host string) *tls.Certificate {
	t.Helper()
	c, err := i.Certificate(host)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pool(c *CA) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(c.Certificate())
	return p
}

func TestLeavesVerifyForTheirHostAlone(t *testing.T) {
	c := open(t, t.TempDir())
	issuer := NewIssuer(c, 0)
	for _, tt := range []struct {
		host, verify, other, reason string
	}{
		{"a.example", "a.example", "b.example", "a name"},
		{"a.example", "A.EXAMPLE", "x.a.example", "no wildcard"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example", "bcher-kva.example", "an A-label"},
		{"under_score.example", "under_score.example", "underscore.example", "an underscore is fine"},
		{"localhost", "localhost", "localhost.example", "one label"},
		{"192.0.2.1", "192.0.2.1", "192.0.2.2", "an IPv4 address is an IP SAN"},
		{"2001:db8::1", "2001:db8::1", "2001:db8::2", "an IPv6 address is an IP SAN"},
	} {
		t.Run(tt.host, func(t *testing.T) {
			leaf := certificate(t, issuer, tt.host).Leaf
			verify := func(name string) error {
				_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool(c), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
				return err
			}
			if err := verify(tt.verify); err != nil {
				t.Errorf("%s (%s): %v", tt.verify, tt.reason, err)
			}
			if verify(tt.other) == nil {
				t.Errorf("the leaf of %s is good for %s (%s)", tt.host, tt.other, tt.reason)
			}
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool(c), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
				t.Error("the leaf is good for a TLS client")
			}
			if names := len(leaf.DNSNames) + len(leaf.IPAddresses); names != 1 {
				t.Errorf("%d names in the SAN, want 1", names)
			}
		})
	}
}

// TestLeavesPassStrictChecks holds what OpenSSL's X509_V_FLAG_X509_STRICT,
// Python 3.13's default, asks of a leaf.
func TestLeavesPassStrictChecks(t *testing.T) {
	c := open(t, t.TempDir())
	made := certificate(t, NewIssuer(c, 0), "a.example")
	leaf := made.Leaf
	if leaf.Subject.CommonName != "" {
		t.Errorf("common name %q: the SAN alone names the host", leaf.Subject.CommonName)
	}
	if leaf.Version != 3 || leaf.IsCA || !leaf.BasicConstraintsValid {
		t.Errorf("version %d, CA %t, basic constraints %t, want 3, false, true", leaf.Version, leaf.IsCA, leaf.BasicConstraintsValid)
	}
	if leaf.KeyUsage != x509.KeyUsageDigitalSignature || len(leaf.ExtKeyUsage) != 1 || leaf.ExtKeyUsage[0] != x509.ExtKeyUsageServerAuth {
		t.Errorf("key usage %b, extended %v, want digital signature, server", leaf.KeyUsage, leaf.ExtKeyUsage)
	}
	if string(leaf.AuthorityKeyId) != string(c.Certificate().SubjectKeyId) {
		t.Errorf("authority key id %x, want the CA's %x", leaf.AuthorityKeyId, c.Certificate().SubjectKeyId)
	}
	for _, e := range leaf.Extensions {
		critical := e.Id.String() == "2.5.29.15" || e.Id.String() == "2.5.29.19" // key usage, basic constraints
		if e.Critical != critical {
			t.Errorf("extension %v critical: %t, want %t", e.Id, e.Critical, critical)
		}
	}
	if n := leaf.SerialNumber; n.Sign() <= 0 || n.BitLen() > 127 || n.BitLen() < 64 {
		t.Errorf("serial number %v has %d bits, want 64 to 127", n, n.BitLen())
	}
	if len(made.Certificate) != 2 || string(made.Certificate[0]) != string(leaf.Raw) || string(made.Certificate[1]) != string(c.Certificate().Raw) {
		t.Error("the chain is not leaf and CA")
	}
}

func TestLeavesShareOneKeyThatIsNotTheCAs(t *testing.T) {
	c := open(t, t.TempDir())
	first := NewIssuer(c, 0)
	a, b := certificate(t, first, "a.example"), certificate(t, first, "b.example")
	key := a.PrivateKey.(*ecdsa.PrivateKey)
	if !key.Equal(b.PrivateKey) {
		t.Error("two leaves of one start have two keys")
	}
	if key.Equal(c.key) {
		t.Error("the leaf's key is the CA's")
	}
	if key.Equal(certificate(t, NewIssuer(c, 0), "a.example").PrivateKey) {
		t.Error("the next start has the same leaf key")
	}
	if a.Leaf.SerialNumber.Cmp(b.Leaf.SerialNumber) == 0 {
		t.Error("two leaves have one serial number")
	}
}

func TestAServerWithALeafCompletesAHandshake(t *testing.T) {
	c := open(t, t.TempDir())
	issuer := NewIssuer(c, 0)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		clientEnd, serverEnd := net.Pipe()
		server := tls.Server(serverEnd, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return issuer.Certificate(h.ServerName)
		}})
		done := make(chan error, 1)
		go func() {
			_, err := io.WriteString(server, "x")
			done <- err
		}()
		client := tls.Client(clientEnd, &tls.Config{ServerName: "a.example", RootCAs: pool(c), MinVersion: version, MaxVersion: version})
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Errorf("client with %s: %v", tls.VersionName(version), err)
		}
		if err := <-done; err != nil {
			t.Errorf("server with %s: %v", tls.VersionName(version), err)
		}
		clientEnd.Close()
		serverEnd.Close()
	}
}

func TestSpellingsOfOneHostHaveOneLeaf(t *testing.T) {
	issuer := NewIssuer(open(t, t.TempDir()), 0)
	want := certificate(t, issuer, "a.example")
	for _, host := range []string{"a.example", "A.Example", "a.example.", "a。example"} {
		if certificate(t, issuer, host) != want {
			t.Errorf("%q has a leaf of its own", host)
		}
	}
	want = certificate(t, issuer, "2001:db8::1")
	for _, host := range []string{"2001:DB8::1", "2001:db8:0:0::1"} {
		if certificate(t, issuer, host) != want {
			t.Errorf("%q has a leaf of its own", host)
		}
	}
	if n := issuer.leaves.Len(); n != 2 {
		t.Errorf("%d leaves are kept, want 2", n)
	}
}

func TestAHostileServerNameIsNotSigned(t *testing.T) {
	issuer := NewIssuer(open(t, t.TempDir()), 0)
	for _, tt := range []struct{ host, reason string }{
		{"", "no name"},
		{".", "the root"},
		{"*.example", "a wildcard"},
		{"*", "a wildcard for all"},
		{"a..example", "an empty label"},
		{"a.example\x00.evil.example", "NUL, which some clients stop at"},
		{"a.example,b.example", "two names"},
		{"a.example/CN=b.example", "a distinguished name"},
		{"a.example:443", "a port"},
		{"user@a.example", "userinfo"},
		{"a example", "a space"},
		{"a.example\r\nX: y", "line ends"},
		{"[::1]", "brackets are of the authority, not of the host"},
		{"::1%eth0", "a zone"},
		{"127.1", "a short address"},
		{"0x7f000001", "a hexadecimal address"},
		{"xn--0.example", "a fake A-label"},
		{strings.Repeat("a", 64) + ".example", "a label of 64 octets"},
		{strings.Repeat("a.", 127) + "a", "a name of 255 octets"},
		{strings.Repeat("a", 64<<10), "64 KiB"},
	} {
		if c, err := issuer.Certificate(tt.host); err == nil {
			t.Errorf("%.80q (%s) is signed as %v", tt.host, tt.reason, c.Leaf.DNSNames)
		} else if !strings.HasPrefix(err.Error(), "issuing a certificate: ") || len(err.Error()) > 1500 {
			t.Errorf("%.80q (%s): error %.200q of %d octets", tt.host, tt.reason, err, len(err.Error()))
		}
	}
	if n := issuer.leaves.Len(); n != 0 {
		t.Errorf("%d leaves are kept, want none", n)
	}
}

func TestLeavesLive72HoursAndAreRenewedAtTwoThirds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := NewIssuer(open(t, t.TempDir()), 0)
		start := time.Now()
		first := certificate(t, issuer, "a.example")
		if want := start.Add(-time.Hour); !first.Leaf.NotBefore.Equal(want) {
			t.Errorf("valid from %v, want %v", first.Leaf.NotBefore, want)
		}
		if got := first.Leaf.NotAfter.Sub(first.Leaf.NotBefore); got != 72*time.Hour {
			t.Errorf("valid for %v, want 72h", got)
		}
		time.Sleep(47*time.Hour - time.Nanosecond)
		if certificate(t, issuer, "a.example") != first {
			t.Error("renewed before two thirds of its life")
		}
		time.Sleep(time.Nanosecond)
		second := certificate(t, issuer, "a.example")
		if second == first {
			t.Fatal("not renewed at two thirds of its life")
		}
		if !second.Leaf.NotBefore.Equal(time.Now().Add(-time.Hour)) {
			t.Errorf("renewed from %v", second.Leaf.NotBefore)
		}
		if certificate(t, issuer, "a.example") != second {
			t.Error("renewed twice")
		}
	})
}

func TestALeafNeverOutlivesTheCA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, t.TempDir())
		issuer := NewIssuer(c, 0)
		end := c.Certificate().NotAfter
		time.Sleep(time.Until(end) - 10*time.Hour)
		leaf := certificate(t, issuer, "a.example").Leaf
		if !leaf.NotAfter.Equal(end) {
			t.Errorf("valid until %v, the CA until %v", leaf.NotAfter, end)
		}
		time.Sleep(time.Until(end) - time.Second)
		if _, err := certificate(t, issuer, "a.example").Leaf.Verify(x509.VerifyOptions{Roots: pool(c), DNSName: "a.example"}); err != nil {
			t.Errorf("in the CA's last second: %v", err)
		}
		time.Sleep(time.Second)
		want := "issuing a certificate for a.example: the CA " + c.CertFile() + " expired on " + end.Format(time.RFC3339) +
			": remove ca.pem and ca.key and restart to make a new one"
		if _, err := issuer.Certificate("a.example"); err == nil || err.Error() != want {
			t.Errorf("after the CA's end: %v\nwant: %s", err, want)
		}
	})
}

func TestAClockSetBackRenewsALeaf(t *testing.T) {
	leaf := certificate(t, NewIssuer(open(t, t.TempDir()), 0), "a.example").Leaf
	for _, tt := range []struct {
		now    time.Time
		want   bool
		reason string
	}{
		{leaf.NotBefore.Add(-time.Second), false, "not yet valid"},
		{leaf.NotBefore, true, "the first moment"},
		{leaf.NotBefore.Add(48*time.Hour - time.Second), true, "just before two thirds"},
		{leaf.NotBefore.Add(48 * time.Hour), false, "two thirds"},
	} {
		if got := current(leaf, tt.now); got != tt.want {
			t.Errorf("%v (%s): current is %t, want %t", tt.now, tt.reason, got, tt.want)
		}
	}
}

func TestOneLeafIsMadeUnderConcurrency(t *testing.T) {
	issuer := NewIssuer(open(t, t.TempDir()), 0)
	const n = 64
	got := make([]*tls.Certificate, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c, err := issuer.Certificate([]string{"a.example", "A.EXAMPLE"}[i%2])
			if err != nil {
				t.Error(err)
			}
			got[i] = c
		})
	}
	wg.Wait()
	for _, c := range got {
		if c != got[0] {
			t.Fatal("two leaves were made for one host")
		}
	}
}

func TestKeptTellsWhatIsMadeAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := NewIssuer(open(t, t.TempDir()), 0)
		if issuer.Kept("a.example") {
			t.Error("kept before it was made")
		}
		certificate(t, issuer, "a.example")
		if !issuer.Kept("a.example") || issuer.Kept("b.example") {
			t.Error("not the one that was made is kept")
		}
		time.Sleep(47 * time.Hour)
		if issuer.Kept("a.example") {
			t.Error("kept when it is to be renewed")
		}
	})
}

func TestTheLeavesThatAreKeptAreBounded(t *testing.T) {
	issuer := NewIssuer(open(t, t.TempDir()), 8)
	first := certificate(t, issuer, "0.example")
	for i := range 100 {
		certificate(t, issuer, fmt.Sprintf("%d.example", i))
	}
	if n := issuer.leaves.Len(); n != 8 {
		t.Errorf("%d leaves are kept, want 8", n)
	}
	if certificate(t, issuer, "0.example") == first {
		t.Error("the oldest leaf was kept")
	}
}

// FuzzCertificate checks that what is signed names exactly the host that
// package origin reads in the server name.
func FuzzCertificate(f *testing.F) {
	for _, s := range []string{"a.example", "A.example.", "*.example", "::1", "127.0.0.1", "127.1", "xn--0", "a\x00b", "bücher.example"} {
		f.Add(s)
	}
	issuer := NewIssuer(open(f, f.TempDir()), 16)
	f.Fuzz(func(t *testing.T, host string) {
		c, err := issuer.Certificate(host)
		if err != nil {
			return
		}
		name, err := canonical(host)
		if err != nil {
			t.Fatalf("%q is signed, and is no host: %v", host, err)
		}
		names := c.Leaf.DNSNames
		for _, ip := range c.Leaf.IPAddresses {
			names = append(names, ip.String())
		}
		if len(names) != 1 || names[0] != name {
			t.Errorf("%q is signed for %q, want %q", host, names, name)
		}
	})
}

func BenchmarkCertificate(b *testing.B) {
	issuer := NewIssuer(open(b, b.TempDir()), 0)
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := issuer.Certificate("a.example"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("made", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := issuer.issue("a.example", time.Now()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
