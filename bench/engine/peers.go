package main

import (
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"heed/bench/engine/load"
)

// The peers from Debian's packages, each with one worker, without a cache, and
// otherwise as it comes.

func init() {
	participants = append(participants,
		&participant{
			name: squid, program: "squid", version: "-v", about: "1 worker, no cache, access log in a file; ssl-bump where it intercepts (package squid-openssl)",
			ways: ways(load.Plain, load.Intercepted, load.Relayed), command: squidCommand,
		},
		&participant{
			name: "haproxy", program: "haproxy", version: "-v", about: "1 thread, one fixed backend, no log",
			ways: ways(load.Plain), command: haproxyCommand,
		},
		&participant{
			name: "tinyproxy", program: "tinyproxy", version: "-v", about: "as it comes, its log in a file; it keeps no connections, neither with clients nor with origins",
			ways: ways(load.Plain, load.Relayed), command: tinyproxyCommand,
		},
		&participant{
			name: mitmdump, program: "mitmdump", version: "--version", about: "with an addon that goes by robots.txt, read once by urllib.robotparser (engine/robots.py); what it prints of flows goes to a file",
			ways: ways(load.Plain, load.Intercepted), denies: true, command: mitmdumpCommand,
		},
	)
}

// certgen makes the certificates of squid.
const certgen = "/usr/lib/squid/security_file_certgen"

func squidCommand(s *setup) (command, error) {
	port := "http_port " + s.at.String()
	bump := ""
	if s.way == load.Intercepted {
		own, err := load.NewCA("squid in bench/engine")
		if err != nil {
			return command{}, err
		}
		path, err := s.file("ca.pem", own)
		if err != nil {
			return command{}, err
		}
		certificates := filepath.Join(s.folder, "certificates")
		if said, err := exec.Command(certgen, "-c", "-s", certificates, "-M", "16MB").CombinedOutput(); err != nil { //nolint:noctx // it takes a moment
			return command{}, fmt.Errorf("preparing squid's certificates (is squid there instead of squid-openssl?): %w\n%s", err, said)
		}
		port += " ssl-bump generate-host-certificates=on dynamic_cert_mem_cache_size=16MB tls-cert=" + path
		bump = fmt.Sprintf("sslcrtd_program %s -s %s -M 16MB\nsslcrtd_children 1\nssl_bump bump all\ntls_outgoing_options cafile=%s\n", certgen, certificates, filepath.Join(s.folder, originCA))
	}
	config, err := s.file("squid.conf", fmt.Sprintf(`%s
%shttp_access allow all
cache deny all
workers 1
pid_filename none
access_log stdio:%s/access.log
cache_log stdio:%s
coredump_dir %s
max_filedescriptors 4096
shutdown_lifetime 0 seconds
pinger_enable off
visible_hostname bench
`, port, bump, s.folder, filepath.Join(s.folder, saidLog), s.folder))
	if err != nil {
		return command{}, err
	}
	// Its shared memory has its name, and another squid may run here.
	name := fmt.Sprintf("bench%d", s.at.Port())
	return command{argv: []string{squid, "-N", "-n", name, "-f", config}, user: "proxy", leaves: "/dev/shm/" + name + "-*"}, nil
}

func haproxyCommand(s *setup) (command, error) {
	config, err := s.file("haproxy.cfg", fmt.Sprintf(`global
	nbthread 1
	maxconn 2000
defaults
	mode http
	timeout connect 10s
	timeout client 60s
	timeout server 60s
	http-reuse always
frontend proxy
	bind %s
	default_backend origin
backend origin
	server origin %s
`, s.at, s.origin.Plain))
	if err != nil {
		return command{}, err
	}
	return command{argv: []string{"haproxy", "-db", "-f", config}}, nil
}

func tinyproxyCommand(s *setup) (command, error) {
	config, err := s.file("tinyproxy.conf", fmt.Sprintf(`Listen %s
Port %d
Timeout 60
MaxClients 1000
LogFile "%s/access.log"
Allow 127.0.0.1
`, s.at.Addr(), s.at.Port(), s.folder))
	if err != nil {
		return command{}, err
	}
	return command{argv: []string{"tinyproxy", "-d", "-c", config}}, nil
}

//go:embed robots.py
var robotsAddon string

func mitmdumpCommand(s *setup) (command, error) {
	addon, err := s.file("robots.py", robotsAddon)
	if err != nil {
		return command{}, err
	}
	ca := filepath.Join(s.folder, originCA)
	return command{
		argv: strings.Fields(fmt.Sprintf("mitmdump --listen-host %s --listen-port %d --set confdir=%s --set ssl_verify_upstream_trusted_ca=%s --scripts %s",
			s.at.Addr(), s.at.Port(), s.folder, ca, addon)),
		env: []string{"SSL_CERT_FILE=" + ca}, // for the addon's own fetches
	}, nil
}
