package faults

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"time"
)

// handshakes are faults of TLS. It fails closed, and the cause is told of the
// origin: "not allowed by robots.txt" would send its owner looking in the wrong
// place.
func handshakes() []Row {
	shows := func(name, why string, a func() *authority, change func(*x509.Certificate)) Row {
		return Row{
			Name: "TLS: " + name, Why: why, On: "https", TLS: func(c *tls.Config) { present(c, a(), change) },
			Robots: down(502, "tls_certificate_error", 1), Page: unasked(502, "tls_certificate_error"),
		}
	}
	does := func(name, why string, status int, err string, dials int, act Act) Row {
		return Row{
			Name: "TLS: " + name, Why: why, On: "https", Accept: act,
			Robots: down(status, err, dials), Page: unasked(status, err),
		}
	}
	year := 365 * 24 * time.Hour
	breaks := func(name string, act Act) Row {
		return Row{
			Name: "TLS: " + name, Why: "one retry, as without TLS", On: "https", Accept: act,
			Robots: unreachable(0).dials(2), Page: unasked(502, "connection_terminated"),
		}
	}
	hello := func(c *Conn) { _, _ = c.Read(make([]byte, 4096)) }
	return []Row{
		{
			Name: "TLS: well", Why: "nothing is wrong", On: "https", TLS: func(*tls.Config) {},
			Robots: rules(1), Page: forwarded(200),
		},
		shows("expired", "nobody vouches for it any more", trusted, func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, from.Add(year) }),
		shows("not yet valid", "nobody vouches for it yet", trusted, func(c *x509.Certificate) { c.NotBefore, c.NotAfter = until.Add(-year), until }),
		shows("another host", "it is for somebody else", trusted, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"other.example"}, nil }),
		shows("no host but the common name", "RFC 9525 §2: a common name is no host name", trusted, func(c *x509.Certificate) {
			if len(c.DNSNames) > 0 {
				c.Subject = pkix.Name{CommonName: c.DNSNames[0]}
			}
			c.DNSNames, c.IPAddresses = nil, nil
		}),
		shows("a wildcard for everything", "RFC 9525 §6.3", trusted, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"*"}, nil }),
		shows("for clients alone", "the extended key usage is for something else", trusted, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
		shows("of an unknown authority", "nobody here trusts who vouches for it", unknown, func(*x509.Certificate) {}),
		{
			Name: "TLS: self-signed", Why: "nobody else vouches for it", On: "https",
			TLS: func(c *tls.Config) {
				self := &authority{key: serverKey()}
				present(c, self, func(*x509.Certificate) {})
			},
			Robots: down(502, "tls_certificate_error", 1), Page: unasked(502, "tls_certificate_error"),
		},
		{
			Name: "TLS: 1.1", Why: "RFC 8996", On: "https", TLS: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 },
			Robots: down(502, "tls_alert_received", 1), Page: unasked(502, "tls_alert_received"),
		},
		{
			Name: "TLS: 1.2", Why: "old, and good enough", On: "https", TLS: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
			Robots: rules(1), Page: forwarded(200),
		},
		{
			Name: "TLS: a client certificate is wanted", Why: "heed has none: what it carries is not its clients'", On: "https",
			TLS:    func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert },
			Robots: down(502, "tls_alert_received", 0), Page: unasked(502, "tls_alert_received"),
		},
		{
			Name: "TLS 1.2: a client certificate is wanted", Why: "heed has none", On: "https",
			TLS:    func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 },
			Robots: down(502, "tls_alert_received", 1), Page: unasked(502, "tls_alert_received"),
		},
		{
			Name: "TLS: no certificate at all", Why: "a handshake that fails on the other side", On: "https",
			TLS: func(c *tls.Config) {
				c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }
			},
			Robots: down(502, "tls_alert_received", 1), Page: unasked(502, "tls_alert_received"),
		},
		does("plain text", "it is not TLS", 502, "tls_protocol_error", 1, do(hello, write(reply("400 Bad Request", "speak HTTP here\n")))),
		does("an alert at once", "the origin refused", 502, "tls_alert_received", 1, do(hello, write("\x15\x03\x03\x00\x02\x02\x28"))),
		does("rubbish", "it is not TLS", 502, "tls_protocol_error", 1, do(hello, write("\x16\x03\x03\x00\x04\x99\x00\x00\x00"))),
		does("a record that is too long", "it is not TLS", 502, "tls_protocol_error", 1, do(hello, write("\x16\x03\x03\xff\xff"), flood("x"))),
		breaks("reset in the handshake", do(hello, reset)),
		breaks("closed in the handshake", hello),
	}
}
