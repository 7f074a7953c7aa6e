package ca

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func open(t testing.TB, dir string) *CA {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenMakesACAThatStrictClientsAccept(t *testing.T) {
	c := open(t, t.TempDir())
	cert := c.Certificate()

	if key, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("public key is %T, want ECDSA P-256", cert.PublicKey)
	}
	if cert.Version != 3 || !cert.BasicConstraintsValid || !cert.IsCA || cert.MaxPathLen != 0 || !cert.MaxPathLenZero {
		t.Errorf("basic constraints: version %d, CA %t, path length %d, want 3, true, 0", cert.Version, cert.IsCA, cert.MaxPathLen)
	}
	if want := x509.KeyUsageCertSign | x509.KeyUsageCRLSign; cert.KeyUsage != want {
		t.Errorf("key usage %b, want %b", cert.KeyUsage, want)
	}
	if len(cert.SubjectKeyId) != 20 {
		t.Errorf("subject key id of %d octets, want 20", len(cert.SubjectKeyId))
	}
	if n := cert.SerialNumber; n.Sign() <= 0 || n.BitLen() > 127 || n.BitLen() < 64 {
		t.Errorf("serial number %v has %d bits, want 64 to 127", n, n.BitLen())
	}
	if cn := cert.Subject.CommonName; !strings.HasPrefix(cn, "heed CA ") || len(cn) > 64 {
		t.Errorf("common name %q, want \"heed CA …\" of at most 64 octets", cn)
	}
	now := time.Now()
	if cert.NotBefore.After(now.Add(-59*time.Minute)) || cert.NotAfter.After(cert.NotBefore.AddDate(5, 0, 0)) {
		t.Errorf("valid from %v to %v, want from an hour ago for at most 5 years", cert.NotBefore, cert.NotAfter)
	}
	if err := cert.CheckSignatureFrom(cert); err != nil {
		t.Errorf("its own signature: %v", err)
	}
	for _, e := range cert.Extensions {
		critical := e.Id.String() == "2.5.29.15" || e.Id.String() == "2.5.29.19" // key usage, basic constraints
		if e.Critical != critical {
			t.Errorf("extension %v critical: %t, want %t (RFC 5280 §4.2.1)", e.Id, e.Critical, critical)
		}
	}
}

func TestOpenMakesEveryInstallItsOwnCA(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	if a.Certificate().PublicKey.(*ecdsa.PublicKey).Equal(b.Certificate().PublicKey) {
		t.Error("two installs have one key")
	}
	if a.Certificate().SerialNumber.Cmp(b.Certificate().SerialNumber) == 0 {
		t.Error("two installs have one serial number")
	}
	if a.Certificate().Subject.CommonName == b.Certificate().Subject.CommonName {
		t.Errorf("two installs have one name, %s", a.Certificate().Subject.CommonName)
	}
}

func TestOpenFindsTheCAItMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "heed")
	first := open(t, dir)
	if second := open(t, dir); !second.Certificate().Equal(first.Certificate()) {
		t.Error("the second start has another CA")
	}
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Certificate().Equal(first.Certificate()) {
		t.Error("Load has another CA than Open")
	}
}

func TestExportIsTheCertificateOnly(t *testing.T) {
	c := open(t, t.TempDir())
	block, rest := pem.Decode(c.PEM())
	if block == nil || block.Type != "CERTIFICATE" || len(rest) != 0 || !bytes.Equal(block.Bytes, c.Certificate().Raw) {
		t.Errorf("PEM is not the one certificate:\n%s", c.PEM())
	}
	if !bytes.Equal(c.DER(), c.Certificate().Raw) {
		t.Error("DER is not the certificate")
	}
	c.DER()[0] ^= 0xff
	if !bytes.Equal(c.DER(), c.Certificate().Raw) || c.DER()[0] != 0x30 {
		t.Error("changing what DER returned changed the CA")
	}
	file, err := os.ReadFile(c.CertFile())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, c.PEM()) {
		t.Error("CertFile does not hold PEM")
	}
}

func TestFingerprintIsTheSHA256OfTheCertificate(t *testing.T) {
	c := open(t, t.TempDir())
	sum := sha256.Sum256(c.DER())
	got := c.Fingerprint()
	if want := strings.ToUpper(hex.EncodeToString(sum[:])); strings.ReplaceAll(got, ":", "") != want || strings.Count(got, ":") != 31 {
		t.Errorf("fingerprint %s, want %s in pairs with colons", got, want)
	}
}

func TestPrintingACANeverShowsItsKey(t *testing.T) {
	c := open(t, t.TempDir())
	key := c.key.(*ecdsa.PrivateKey)
	d, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{
		"as it is":            string(d),
		"hex":                 hex.EncodeToString(d),
		"decimal":             key.D.String(), //nolint:staticcheck // what a careless print of the key would show
		"base64":              base64.StdEncoding.EncodeToString(d),
		"base64 of PKCS #8":   base64.StdEncoding.EncodeToString(pkcs8),
		"octets as Go prints": strings.Trim(fmt.Sprintf("%d", d), "[]"),
	}
	printed := []string{c.String(), c.GoString(), string(c.PEM()), string(c.DER())}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, c), fmt.Sprintf(verb, *c), fmt.Sprintf(verb, struct{ CA *CA }{c}))
	}
	for _, v := range []any{c, *c, struct{ CA *CA }{c}} {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		printed = append(printed, string(j))
	}
	for form, secret := range secrets {
		for _, p := range printed {
			if strings.Contains(strings.ToLower(p), strings.ToLower(secret)) {
				t.Errorf("the key is printed (%s) in %.200q", form, p)
			}
		}
	}
	if !strings.Contains(c.String(), c.Fingerprint()) || !strings.Contains(c.String(), c.Certificate().Subject.CommonName) {
		t.Errorf("String is %q, want name and fingerprint", c)
	}
}

func TestCommonNameFitsACertificate(t *testing.T) {
	id := []byte{0xde, 0xad, 0xbe, 0xef}
	if got := commonName("", id); got != "heed CA deadbeef" {
		t.Errorf("without a host name: %q", got)
	}
	if got := commonName(strings.Repeat("h", 40), id); len(got) > 64 {
		t.Errorf("with the longest host name: %d octets, want at most 64", len(got))
	}
}
