package config

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"heed/internal/dial"
)

// full sets every key to something else than its default.
const full = `
listen: 0.0.0.0:8080
admin_listen: off
state_dir: /var/lib/heed
contact: https://example.com/bot
mode: report
modes:
  - {origin: HTTPS://A.example:443/, mode: enforce, reason: "they  complained"}
  - {host: "*.Bücher.example", mode: report}
https:
  mode: tunnel
  exceptions:
    - host: A.Example.
      mode: intercept
      reason: "we own it"
    - {host: "*.Bücher.example", mode: deny}
    - {host: "::1", mode: deny}
connect_ports: [443, 8000-8999]
connect_to: [":80:127.0.0.1:8080"]
allow_address: [127.0.0.0/8, "::1"]
upstream: {proxy: "https://lab:p%40ss@proxy.example:3128", direct: [A.Example., "*.b.example", 10.0.0.0/8, "::1"]}
clients:
  allow: [10.0.0.0/8]
  named:
    - name: news
      password: $2y$05$abcdefghijklmnopqrstuuGbx1s1s8WYnVsvZ0KnS/9m3KkSFNwxS
      addresses: [10.1.0.0/16, "::1"]
      token: NewsBot
      user_agent: NewsBot/1.0 (+https://a.example/bot)
      from: bots@a.example
      purpose: an archive
        of headlines
      project: P-17
      contact: lab@a.example
      destinations: [A.example., "*.Bücher.example"]
      https: deny
      mode: report
      hold: 60s
      quota: {requests_per_minute: 600, requests_per_day: 100000, bytes_per_day: 10GiB}
    - {name: shop.2, addresses: [10.2.0.0/16]}
identity: {require: named}
robots:
  timeout: 5s
  limit: 1MiB
  fresh_min: 1m
  fresh_for: 1h30m
  stale_for: "0"
  refused: disallowed
  wait: 500ms
  concurrency: 3
  per_address: 2
pace:
  hold: 10s
  patient: [{token: ExampleBot, hold: 5m}]
  min_interval: 1s
  max_delay: 1m
  per_origin: 4
  per_address: 0
  queue: 7
  target_concurrency: 1.5
cache: {max_bytes: 1GiB}
policy: {cautious: true}
overrides:
  - origin: HTTPS://A.example:443/
    action: allow
    reason: >
      written consent
      of the  site
    reference: "mail of 2026-10-02, ticket 4711"
    owner: lab admin
    expires: 2027-03-31
  - {host: "*.Bücher.example", action: disallow, reason: "they asked, by mail: \"no\"", owner: lab admin}
  - {host: "::1", action: unavailable, reason: answers 500 to everything, owner: me, expires: 2027-03-31T14:00:00+02:00}
timeouts: {connect: 1s, tls_handshake: 2s, response_header: 3s, client_header: 4s, idle: 5s, shutdown: 6s}
limits: {header: 32KiB, url: 8 KiB, leaf_certificates: 5}
log: {level: debug, format: json}
`

func fullConfig() Config {
	const second = Duration(time.Second)
	return Config{
		Listen:      "0.0.0.0:8080",
		AdminListen: Off,
		StateDir:    "/var/lib/heed",
		Contact:     "https://example.com/bot",
		Mode:        Report,
		Modes: []OriginMode{
			{Origin: "https://a.example", Mode: Enforce, Reason: "they complained"},
			{Host: "*.xn--bcher-kva.example", Mode: Report},
		},
		HTTPS: HTTPS{Mode: Tunnel, Exceptions: []Exception{
			{Host: "a.example", Mode: Intercept, Reason: "we own it"},
			{Host: "*.xn--bcher-kva.example", Mode: Deny},
			{Host: "::1", Mode: Deny},
		}},
		ConnectPorts: []Ports{{443, 443}, {8000, 8999}},
		ConnectTo:    []dial.ConnectTo{{FromPort: "80", ToHost: "127.0.0.1", ToPort: "8080"}},
		AllowAddress: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		Upstream: Upstream{Proxy: "https://lab:p%40ss@proxy.example:3128", Direct: []Destination{
			{Host: "a.example"},
			{Host: "*.b.example"},
			{Network: netip.MustParsePrefix("10.0.0.0/8")},
			{Network: netip.MustParsePrefix("::1/128")},
		}},
		Clients: Clients{
			Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			Named: []Client{
				{
					Name: "news", Password: "$2y$05$abcdefghijklmnopqrstuuGbx1s1s8WYnVsvZ0KnS/9m3KkSFNwxS",
					Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("::1/128")},
					Token:     "NewsBot", UserAgent: "NewsBot/1.0 (+https://a.example/bot)", From: "bots@a.example",
					Purpose: "an archive of headlines", Project: "P-17", Contact: "lab@a.example",
					Destinations: []HostPattern{"a.example", "*.xn--bcher-kva.example"}, HTTPS: Deny, Mode: Report, Hold: 60 * second,
					Quota: Quota{600, 100_000, 10 << 30},
				},
				{Name: "shop.2", Addresses: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16")}},
			},
		},
		Identity: Identity{Require: RequireNamed},
		Robots: Robots{
			Timeout: 5 * second, Limit: 1 << 20, FreshMin: 60 * second, FreshFor: 5400 * second, StaleFor: 0,
			Refused: Disallowed, Wait: second / 2, Concurrency: 3, PerAddress: 2,
		},
		Pace: Pace{
			Hold: 10 * second, Patient: []Patient{{"ExampleBot", 300 * second}}, MinInterval: second, MaxDelay: 60 * second,
			PerOrigin: 4, Queue: 7, TargetConcurrency: 1.5,
		},
		Cache:  Cache{MaxBytes: 1 << 30},
		Policy: Policy{Cautious: true},
		Overrides: []Override{
			{Origin: "https://a.example", Action: "allow", Reason: "written consent of the site", Reference: "mail of 2026-10-02, ticket 4711", Owner: "lab admin", Expires: 1806537600},
			{Host: "*.xn--bcher-kva.example", Action: "disallow", Reason: `they asked, by mail: "no"`, Owner: "lab admin"},
			{Host: "::1", Action: "unavailable", Reason: "answers 500 to everything", Owner: "me", Expires: 1806494400},
		},
		Timeouts: Timeouts{second, 2 * second, 3 * second, 4 * second, 5 * second, 6 * second},
		Limits:   Limits{Header: 32 << 10, URL: 8 << 10, LeafCertificates: 5},
		Log:      Log{Level: "debug", Format: "json"},
	}
}

func TestLoadReadsEveryKey(t *testing.T) {
	got, err := parse("heed.yaml", []byte(full), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := fullConfig(); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestADestinationIsAHostOrANetwork(t *testing.T) {
	for _, r := range []struct {
		written, host string
		want          bool
		why           string
	}{
		{"a.example", "a.example", true, "the very name"},
		{"a.example", "www.a.example", false, "a name below needs the star"},
		{"*.a.example", "www.a.example", true, "below"},
		{"10.0.0.0/8", "10.1.2.3", true, "an address of the network"},
		{"10.0.0.0/8", "::ffff:10.1.2.3", true, "the same in IPv6 form"},
		{"10.0.0.0/8", "11.1.2.3", false, "an address outside"},
		{"10.0.0.0/8", "a.example", false, "names are not resolved"},
		{"192.0.2.1", "192.0.2.1", true, "an address is the network of itself"},
		{"fd00::/8", "fd00::1", true, "IPv6"},
	} {
		var d Destination
		if err := d.UnmarshalText([]byte(r.written)); err != nil {
			t.Errorf("%s: %v", r.written, err)
			continue
		}
		if d.Matches(r.host) != r.want {
			t.Errorf("%s matches %s: %t, want %t: %s", r.written, r.host, !r.want, r.want, r.why)
		}
	}
}

func TestFilesThatSayNothingMeanTheDefaults(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# a comment\n", "---\n", "---\n# nothing\n...\n", "null\n", "robots:\n  # wait: 5s\nlog:\n", "\xef\xbb\xbf"} {
		got, err := parse("heed.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(got, Default()) {
			t.Errorf("%q does not give the defaults: %+v", text, got)
		}
	}
}

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateNamesTheKeyOfAConfigMadeByHand(t *testing.T) {
	c := Default()
	c.Listen = "0.0.0.0:3128"
	c.HTTPS.Exceptions = []Exception{{Mode: Tunnel}}
	want := `listen: "0.0.0.0:3128" can be reached from other machines, so anyone could use this proxy; name the clients in clients.allow, or listen on 127.0.0.1:3128
https.exceptions[0]: has no host; write host: example.com or *.example.com`
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestSettingsGoOverTheFile(t *testing.T) {
	path := write(t, "listen: 127.0.0.1:1\nallow_address: [10.0.0.0/8]\nconnect_to: [':1::2']\n")
	c, err := Load(path,
		Setting{"listen", []string{"127.0.0.1:2"}, "HEED_LISTEN"},
		Setting{"listen", []string{"127.0.0.1:3"}, "--listen"},
		Setting{"allow_address", []string{"127.0.0.1", "::1"}, "--allow-address"},
		Setting{"log.level", []string{"warn"}, "--log-level"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:3" {
		t.Errorf("listen is %s: the last setting must win", c.Listen)
	}
	if want := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}; !reflect.DeepEqual(c.AllowAddress, want) {
		t.Errorf("allow_address is %v: a setting must replace the file's list", c.AllowAddress)
	}
	if len(c.ConnectTo) != 1 || c.Log.Level != "warn" {
		t.Errorf("connect_to %v, log.level %s", c.ConnectTo, c.Log.Level)
	}
}

func TestASettingCanMendWhatTheFileSays(t *testing.T) {
	path := write(t, "listen: 0.0.0.0:3128\n")
	if _, err := Load(path); err == nil {
		t.Error("an open proxy was accepted")
	}
	if _, err := Load(path, Setting{"listen", []string{"127.0.0.1:3128"}, "--listen"}); err != nil {
		t.Error(err)
	}
}

func TestRelativePathsAreTakenFromTheFilesFolder(t *testing.T) {
	path := write(t, "state_dir: state\nupstream: {roots: roots.pem}\n")
	dir := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(dir, "roots.pem"), pemFile(t), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.StateDir != filepath.Join(dir, "state") || c.Upstream.Roots != filepath.Join(dir, "roots.pem") {
		t.Errorf("state_dir %s, upstream.roots %s, want both in %s", c.StateDir, c.Upstream.Roots, dir)
	}
	c, err = Load(path, Setting{"state_dir", []string{"elsewhere"}, "--state-dir"})
	if err != nil {
		t.Fatal(err)
	}
	if c.StateDir != "elsewhere" {
		t.Errorf("state_dir %s: one from the command line is not the file's to resolve", c.StateDir)
	}
}

func TestPrintedConfigurationLoadsAgain(t *testing.T) {
	for name, want := range map[string]Config{"default": Default(), "full": fullConfig()} {
		var text bytes.Buffer
		if err := want.Print(&text); err != nil {
			t.Fatal(err)
		}
		got, err := parse("printed.yaml", text.Bytes(), nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, &text)
		}
		want.Upstream.Proxy = strings.Replace(want.Upstream.Proxy, "lab:p%40ss", "REDACTED", 1)
		if len(want.Clients.Named) > 0 {
			want.Clients.Named[0].Password = "$2y$05$REDACTED............................................."
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, want)
		}
	}
}

func TestPrintNeverShowsCredentials(t *testing.T) {
	for _, contact := range []string{
		"https://user:hunter2@example.com/",
		"https://hunter2@example.com/",
		"https://user:hunt@hunter2@example.com/",
		"https://user:hunter2/x@example.com/",
		"https://user:hunter2 x@example.com/",
		"see https://user:hunter2@example.com/",
		"a/b https://user:hunter2@example.com/",
		"//user:hunter2@example.com",
		"https://user:%zzhunter2@example.com/",
	} {
		c := Default()
		c.Contact = contact
		c.HTTPS.Exceptions = []Exception{{Host: "a.example", Mode: Tunnel, Reason: contact}}
		var text bytes.Buffer
		if err := c.Print(&text); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "hunter2") {
			t.Errorf("contact %s is printed as\n%s", contact, &text)
		}
		if c.HTTPS.Exceptions[0].Reason != contact {
			t.Error("printing changed the configuration")
		}
		if err := c.Validate(); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("contact %s: fault %v", contact, err)
		}
	}
}

func TestUnreadableFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent.yaml"): "no such file",
		dir:                               "is not a file",
		large:                             "has 8388609 octets; a configuration has at most 8388608",
	} {
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want a fault with %q and the path", path, err, want)
		}
	}
}

// write makes a configuration file of a text.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "heed.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pemFile returns a self-signed certificate in PEM form.
func pemFile(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
