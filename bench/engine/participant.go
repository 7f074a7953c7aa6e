package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"

	"heed/bench/engine/load"
)

// originCA is the file with the certificate that proxies are to trust, in the
// folder of each.
const originCA = "origin-ca.pem"

// participant is a proxy that is measured.
type participant struct {
	name    string
	about   string // what the table says of it
	program string // found in PATH; empty: part of this program, or built
	version string // the argument by which the program tells its own
	ways    map[load.Way]bool
	denies  bool // it goes by robots.txt
	http2   bool // it speaks HTTP/2 where it intercepts
	// command writes what the proxy needs into the folder and says how to start
	// it. Nil: there is no proxy, and the origin is asked directly.
	command func(*setup) (command, error)
}

// setup is what a proxy is started with.
type setup struct {
	at     netip.AddrPort // where it is to listen
	folder string
	way    load.Way
	origin *load.Origin
	heed   string // the binary
}

// file writes a file into the folder and returns its path.
func (s *setup) file(name, text string) (string, error) {
	path := filepath.Join(s.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing a configuration: %w", err)
	}
	return path, nil
}

func ways(all ...load.Way) map[load.Way]bool {
	m := map[load.Way]bool{}
	for _, w := range all {
		m[w] = true
	}
	return m
}

// The names that ratios are taken by.
const (
	direct       = "direct"
	heed         = "heed"
	engineAlone  = "engine alone"
	bareGoproxy  = "goproxy"
	tunedGoproxy = "goproxy, tuned"
	squid        = "squid"
	mitmdump     = "mitmdump"
)

var participants = []*participant{
	{
		name: direct, about: "no proxy: what clients and origin can do at most",
		ways: ways(load.Plain, load.Intercepted, load.Relayed),
	},
	{
		name: heed, about: "this tree's binary, `heed serve`: a warm robots.txt of 40 lines, a log line an exchange in a file, metrics on",
		ways: ways(load.Plain, load.Intercepted, load.Relayed), denies: true, http2: true, command: heedCommand,
	},
	{
		name: engineAlone, about: "heed/proxy with a policy that allows everything, no log, no metrics",
		ways: ways(load.Plain, load.Intercepted, load.Relayed), http2: true, command: servedCommand("engine", "engine", "engine-tunnel"),
	},
	{
		name: bareGoproxy, about: "elazarl/goproxy as its README says, AlwaysMitm where it intercepts",
		ways: ways(load.Plain, load.Intercepted, load.Relayed), command: servedCommand("goproxy", "goproxy-mitm", "goproxy"),
	},
	{
		name: tunedGoproxy, about: "with a transport that keeps connections and decodes nothing",
		ways: ways(load.Plain), command: servedCommand("goproxy-tuned", "", ""),
	},
	{
		name: "floor", about: "a proxy in Go that does nothing which it need not (engine/floor)",
		ways: ways(load.Plain), command: servedCommand("floor", "", ""),
	},
}

// absent tells what of a participant is not installed, "" if all is there.
func (p *participant) absent() string {
	if p.program == "" {
		return ""
	}
	if _, err := exec.LookPath(p.program); err != nil {
		return p.program + " is not installed"
	}
	return ""
}

// release is the version of a peer, "" where it has none of its own.
func (p *participant) release() string {
	if p.program != "" {
		said, err := exec.Command(p.program, p.version).CombinedOutput() //nolint:noctx // it takes a moment
		if found := number.FindString(string(said)); err == nil && found != "" {
			return found
		}
		return "unknown"
	}
	if info, ok := debug.ReadBuildInfo(); ok && (p.name == bareGoproxy || p.name == tunedGoproxy) {
		for _, m := range info.Deps {
			if m.Path == "github.com/elazarl/goproxy" {
				return m.Version
			}
		}
	}
	return ""
}

var number = regexp.MustCompile(`\d+\.\d+[\w.+-]*`)

// servedCommand starts this program as one of the proxies that it is, by way.
func servedCommand(plain, intercepted, relayed string) func(*setup) (command, error) {
	names := map[load.Way]string{load.Plain: plain, load.Intercepted: intercepted, load.Relayed: relayed}
	return func(s *setup) (command, error) {
		self, err := os.Executable()
		if err != nil {
			return command{}, fmt.Errorf("finding this program: %w", err)
		}
		return command{
			argv: []string{self, "serve-as", names[s.way], s.at.String(), s.folder},
			env:  []string{"SSL_CERT_FILE=" + filepath.Join(s.folder, originCA)},
		}, nil
	}
}

func heedCommand(s *setup) (command, error) {
	mode := "intercept"
	if s.way == load.Relayed {
		mode = "tunnel"
	}
	config, err := s.file("heed.yaml", fmt.Sprintf(`listen: %s
admin_listen: 127.0.0.1:0
state_dir: %s
https:
  mode: %s
allow_address: [127.0.0.0/8]
upstream:
  roots: %s
pace:
  per_origin: 0
  per_address: 0
log:
  format: json
`, s.at, filepath.Join(s.folder, "state"), mode, filepath.Join(s.folder, originCA)))
	if err != nil {
		return command{}, err
	}
	return command{argv: []string{s.heed, "serve", "--config", config}}, nil
}
