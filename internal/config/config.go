// Package config is heed's configuration: its keys, their defaults, and what
// may be written in them.
//
// A configuration is made of three layers, each over the one before: the
// defaults, a YAML file, and settings (command-line flags and environment
// variables, which internal/cli hands over as Setting values). All three go
// through the same reading and the same checks, so a bad value is reported the
// same way wherever it stands:
//
//	heed.yaml:3: listen: "localhots" is not HOST:PORT; write for example 127.0.0.1:3128
//	--listen: "localhots" is not HOST:PORT; write for example 127.0.0.1:3128
//
// The file is read strictly. An unknown key, a key given twice, a value of the
// wrong kind, an anchor or a second document is an error that names file, line
// and key and says what to write instead. All values that cannot be read are
// reported at once, and when there are none, all that do not make sense.
// config.example.yaml at the top of the tree shows every key with its
// default, and a test holds it to this package.
//
// The package reads the files that a configuration names and nothing else: no
// environment, no network.
package config

import (
	"net/netip"
	"slices"
	"time"

	"heed/internal/dial"
)

// Config is a whole configuration. The zero value is of no use: start from
// Default. A Config is plain data; once it is shared it must not be changed.
type Config struct {
	Listen       string           `yaml:"listen"`        // HOST:PORT of the proxy; port 0 takes a free one
	AdminListen  string           `yaml:"admin_listen"`  // HOST:PORT on loopback, or Off
	StateDir     string           `yaml:"state_dir"`     // where the CA is kept; "" lets the caller choose
	Contact      string           `yaml:"contact"`       // http, https or mailto URL for the User-Agent of robots.txt fetches; "" for none
	Mode         string           `yaml:"mode"`          // Enforce or Report
	Modes        []OriginMode     `yaml:"modes"`         // origins with a mode of their own
	HTTPS        HTTPS            `yaml:"https"`         // what is done at CONNECT
	ConnectPorts []Ports          `yaml:"connect_ports"` // ports that CONNECT may name; never empty
	ConnectTo    []dial.ConnectTo `yaml:"connect_to"`    // connections sent elsewhere; the first that matches counts
	AllowAddress []netip.Prefix   `yaml:"allow_address"` // special address ranges that heed may connect to
	Upstream     Upstream         `yaml:"upstream"`
	Clients      Clients          `yaml:"clients"`
	Identity     Identity         `yaml:"identity"`
	Robots       Robots           `yaml:"robots"`
	Pace         Pace             `yaml:"pace"`
	Cache        Cache            `yaml:"cache"`
	Policy       Policy           `yaml:"policy"`
	Overrides    []Override       `yaml:"overrides"` // origins for which the operator decides in place of their robots.txt
	Timeouts     Timeouts         `yaml:"timeouts"`
	Limits       Limits           `yaml:"limits"`
	Log          Log              `yaml:"log"`
}

// Off in place of an address turns a listener off, in place of a path a file.
const Off = "off"

// HTTPS says what is done with a tunnel.
type HTTPS struct {
	Mode       string      `yaml:"mode"`       // Intercept, Tunnel or Deny
	Exceptions []Exception `yaml:"exceptions"` // hosts that are treated otherwise; the first that matches counts
}

// What is done at CONNECT.
const (
	Intercept = "intercept" // read inside TLS with heed's CA: each request is decided by its path
	Tunnel    = "tunnel"    // relay unread: only the origin as a whole is decided
	Deny      = "deny"      // refuse
)

// Exception is a host whose tunnels are treated otherwise than the rest.
type Exception struct {
	Host   HostPattern `yaml:"host"`
	Mode   string      `yaml:"mode"`   // Intercept, Tunnel or Deny
	Reason string      `yaml:"reason"` // shown where the exception is; may be empty
}

// Upstream is about connections to origins.
type Upstream struct {
	Roots  string        `yaml:"roots"`  // PEM file of CA certificates trusted beside the system's; "" for none
	Proxy  string        `yaml:"proxy"`  // URL of the proxy that all connections go through (dial.ParseProxy), or Environment; "" for none
	Direct []Destination `yaml:"direct"` // what is connected to without it
}

// Environment in place of the upstream proxy's URL takes it from HTTP_PROXY,
// HTTPS_PROXY and NO_PROXY.
const Environment = "environment"

// Robots is about fetching and keeping robots.txt.
type Robots struct {
	Timeout     Duration `yaml:"timeout"`     // for one fetch with all its redirects
	Limit       Size     `yaml:"limit"`       // octets of a body that are read (RFC 9309 §2.5)
	FreshMin    Duration `yaml:"fresh_min"`   // how long a copy is used at least, whatever the origin tells
	FreshFor    Duration `yaml:"fresh_for"`   // how long a copy is used at most before it is fetched again (§2.4)
	StaleFor    Duration `yaml:"stale_for"`   // how long a copy is used on while the origin is unreachable (§2.3.1.4); 0 for not at all
	Refused     string   `yaml:"refused"`     // what 401 and 403 mean: Unavailable or Disallowed
	Wait        Duration `yaml:"wait"`        // how long a client is kept waiting for a robots.txt not yet known
	Concurrency int      `yaml:"concurrency"` // fetches under way at once
	PerAddress  int      `yaml:"per_address"` // of which at one address
}

// What a robots.txt that is itself refused means.
const (
	Unavailable = "unavailable" // nothing is disallowed (RFC 9309 §2.3.1.3)
	Disallowed  = "disallowed"  // everything is (the draft of 1996)
)

// Cache is about what is kept of the robots.txt files.
type Cache struct {
	MaxBytes Size   `yaml:"max_bytes"` // octets of memory
	File     string `yaml:"file"`      // what outlives the process; "" is robots.db in the state directory, Off is none
}

// Policy is about how robots.txt is read.
type Policy struct {
	Cautious    bool `yaml:"cautious"`     // what any dialect disallows is denied, not only what RFC 9309 does
	StrictPaths bool `yaml:"strict_paths"` // so is what is disallowed as a rare origin takes a target
}

// Timeouts bound what heed waits for. None is 0.
type Timeouts struct {
	Connect        Duration `yaml:"connect"`         // for a connection to an origin
	TLSHandshake   Duration `yaml:"tls_handshake"`   // for TLS, with origins and with clients
	ResponseHeader Duration `yaml:"response_header"` // for the header of an origin's response
	ClientHeader   Duration `yaml:"client_header"`   // for the header of a client's request
	Idle           Duration `yaml:"idle"`            // for a connection on which nothing moves
	Shutdown       Duration `yaml:"shutdown"`        // for exchanges under way when heed is asked to end
}

// Limits bound what heed holds for others. None is 0.
type Limits struct {
	Header           Size `yaml:"header"`            // octets of a header section
	URL              Size `yaml:"url"`               // octets of a request-target
	LeafCertificates int  `yaml:"leaf_certificates"` // certificates kept for interception
}

// Log is about heed's own log on standard error.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error: lines below it are left out
	Format string `yaml:"format"` // auto (console on a terminal, JSON elsewhere), json or console
}

// Default returns the configuration of a heed that was told nothing.
func Default() Config {
	const second = Duration(time.Second)
	const hour = Duration(time.Hour)
	return Config{
		Listen:       "127.0.0.1:3128",
		AdminListen:  "127.0.0.1:3129",
		Mode:         Enforce,
		HTTPS:        HTTPS{Mode: Intercept},
		ConnectPorts: []Ports{{80, 80}, {443, 443}, {1024, 65535}},
		Identity:     Identity{Require: RequireAny},
		Robots: Robots{
			Timeout:     10 * second,
			Limit:       500 << 10,
			FreshMin:    300 * second,
			FreshFor:    24 * hour,
			StaleFor:    720 * hour,
			Refused:     Unavailable,
			Wait:        10 * second,
			Concurrency: 256,
			PerAddress:  8,
		},
		Pace: Pace{
			Hold:       3 * second,
			Patient:    slices.Clone(patient),
			MaxDelay:   30 * second,
			PerOrigin:  8,
			PerAddress: 16,
			Queue:      100,
		},
		Cache: Cache{MaxBytes: 256 << 20},
		Timeouts: Timeouts{
			Connect:        10 * second,
			TLSHandshake:   10 * second,
			ResponseHeader: 60 * second,
			ClientHeader:   30 * second,
			Idle:           60 * second,
			Shutdown:       30 * second,
		},
		Limits: Limits{Header: 64 << 10, URL: 16 << 10, LeafCertificates: 10_000},
		Log:    Log{Level: "info", Format: "auto"},
	}
}
