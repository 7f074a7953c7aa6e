package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// Every row is a file and the whole of what is said about it. FILE stands for
// the path of the file, DIR for its folder.
var badFiles = []struct{ reason, file, fault string }{
	// The form of the file.
	{"a list where the keys belong", "- listen\n", `FILE:1: the file: not a section; write KEY: VALUE lines with the keys listen, admin_listen, state_dir, contact, mode, modes, https, connect_ports, connect_to, allow_address, upstream, clients, identity, robots, pace, cache, policy, overrides, timeouts, limits, log`},
	{"one word", "listen\n", `FILE:1: the file: not a section; write KEY: VALUE lines with the keys listen, admin_listen, state_dir, contact, mode, modes, https, connect_ports, connect_to, allow_address, upstream, clients, identity, robots, pace, cache, policy, overrides, timeouts, limits, log`},
	{"a tab as indent", "robots:\n\ttimeout: 5s\n", `FILE:2: not YAML: found character '	' that cannot start any token; config.example.yaml shows the form`},
	{"a quote that never ends", "contact: \"https://a.example\nlisten: x\n", `FILE:1: not YAML: could not find end character of double-quoted text; config.example.yaml shows the form`},
	{"a bracket that never ends", "connect_ports: [80, 443\n", `FILE:1: not YAML: sequence end token ']' not found; config.example.yaml shows the form`},
	{"two documents", "listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n", `FILE:3: a second document; a configuration is one`},
	{"an anchor and its alias", "timeouts:\n  idle: &t 5s\n  connect: *t\n", "FILE:2: timeouts.idle: anchors, aliases and tags are not read; write the value itself\nFILE:3: timeouts.connect: anchors, aliases and tags are not read; write the value itself"},
	{"a merge key", "timeouts:\n  <<: {idle: 5s}\n", `FILE:2: timeouts."<<": not a key that can be read; write a plain name`},
	{"a tag", "listen: !!str 127.0.0.1:1\n", `FILE:1: listen: anchors, aliases and tags are not read; write the value itself`},
	{"a list as a key", "? [a]\n: b\n", `FILE:2: not YAML: found an invalid key for this map; config.example.yaml shows the form`},
	{"octets that are no text", "\xff\xfe\x00l", `FILE: not UTF-8; save the file in that encoding`},
	{"a number where a name belongs", "3128: listen\n", `FILE:1: 3128: no such key; the keys here are listen, admin_listen, state_dir, contact, mode, modes, https, connect_ports, connect_to, allow_address, upstream, clients, identity, robots, pace, cache, policy, overrides, timeouts, limits, log`},

	// Keys.
	{"a slip of the pen", "lisen: 127.0.0.1:3128\n", `FILE:1: lisen: no such key; did you mean "listen"?`},
	{"two letters swapped", "robots:\n  tiemout: 5s\n", `FILE:2: robots.tiemout: no such key; did you mean "timeout"?`},
	{"the wrong case", "Listen: 127.0.0.1:3128\n", `FILE:1: Listen: no such key; did you mean "listen"?`},
	{"hyphens, as in the flag", "admin-listen: off\n", `FILE:1: admin-listen: no such key; did you mean "admin_listen"?`},
	{"a key outside its section", "fresh_for: 24h\n", `FILE:1: fresh_for: no such key; did you mean "fresh_for" of the section robots?`},
	{"a key of another section", "robots:\n  shutdown: 5s\n", `FILE:2: robots.shutdown: no such key; did you mean "shutdown" of the section timeouts?`},
	{"a key nobody knows", "robots:\n  colour: red\n", `FILE:2: robots.colour: no such key; the keys here are timeout, limit, fresh_min, fresh_for, stale_for, refused, wait, concurrency, per_address`},
	{"an unknown key of a list's element", "https:\n  exceptions:\n    - host: a.example\n      mod: tunnel\n", `FILE:4: https.exceptions[0].mod: no such key; did you mean "mode"?`},
	{"a key with a line end in it", "\"lis\\nten\": x\n", `FILE:1: "lis\nten": no such key; did you mean "listen"?`},
	{"the same key twice", "listen: 127.0.0.1:1\ncontact: \"\"\nlisten: 127.0.0.1:2\n", `FILE:3: listen: already set at FILE:1; keep one of them`},
	{"the same section twice", "robots:\n  wait: 1s\nrobots:\n  timeout: 1s\n", `FILE:3: robots: already set at FILE:1; keep one of them`},

	// The kind of a value.
	{"nothing where a value belongs", "contact:\n", `FILE:1: contact: no value; write one, or leave the key out for the default`},
	{"nothing where a list belongs", "connect_to:\n", `FILE:1: connect_to: no value; write one, or leave the key out for the default`},
	{"a list where one value belongs", "listen: [127.0.0.1:3128]\n", `FILE:1: listen: a list or a section where one value belongs`},
	{"a section where one value belongs", "listen:\n  host: 127.0.0.1\n", `FILE:2: listen: a list or a section where one value belongs`},
	{"one value where a list belongs", "connect_ports: 443\n", `FILE:1: connect_ports: not a list; write [a, b] or lines that begin with a dash`},
	{"one value where a section belongs", "https: intercept\n", `FILE:1: https: not a section; write KEY: VALUE lines with the keys mode, exceptions`},
	{"a word where a number belongs", "robots:\n  concurrency: many\n", `FILE:2: robots.concurrency: "many" is not a whole number; write for example 256`},
	{"a word where true or false belongs", "policy:\n  cautious: yes\n", `FILE:2: policy.cautious: "yes" is neither true nor false`},
	{"a capital letter", "policy:\n  cautious: True\n", `FILE:2: policy.cautious: "True" is neither true nor false`},
	{"a number where true or false belongs", "policy:\n  cautious: 1\n", `FILE:2: policy.cautious: "1" is neither true nor false`},
	{"nothing where true or false belongs", "policy:\n  cautious:\n", `FILE:2: policy.cautious: no value; write one, or leave the key out for the default`},
	{"a value where the section belongs", "policy: cautious\n", `FILE:1: policy: not a section; write KEY: VALUE lines with the keys cautious, strict_paths`},
	{"a fraction where a whole number belongs", "limits:\n  leaf_certificates: 1.5\n", `FILE:2: limits.leaf_certificates: "1.5" is not a whole number; write for example 256`},
	{"a number without its unit of time", "robots:\n  timeout: 10\n", `FILE:2: robots.timeout: "10" is not a length of time; write for example 10s, 5m or 24h`},
	{"a number without its unit of size", "robots:\n  limit: 512000\n", `FILE:2: robots.limit: "512000" is not a size; write for example 500KiB or 64MiB`},
	{"a decimal unit of size", "cache:\n  max_bytes: 64MB\n", `FILE:2: cache.max_bytes: "64MB" is not a size; write for example 500KiB or 64MiB`},

	// Addresses.
	{"a name without a port", "listen: localhots\n", `FILE:1: listen: "localhots" is not HOST:PORT; write for example 127.0.0.1:3128`},
	{"a port without a colon", "listen: 3128\n", `FILE:1: listen: "3128" is not HOST:PORT; write for example 127.0.0.1:3128`},
	{"a port that is no number", "listen: 127.0.0.1:http\n", `FILE:1: listen: "127.0.0.1:http" is not HOST:PORT; write for example 127.0.0.1:3128`},
	{"a port too large", "listen: 127.0.0.1:65536\n", `FILE:1: listen: "127.0.0.1:65536" is not HOST:PORT; write for example 127.0.0.1:3128`},
	{"an IPv6 address without brackets", "listen: ::1:3128\n", `FILE:1: listen: "::1:3128" is not HOST:PORT; write for example 127.0.0.1:3128`},
	{"a URL", "listen: http://127.0.0.1:3128\n", `FILE:1: listen: "http://127.0.0.1:3128" is not HOST:PORT; write for example 127.0.0.1:3128`},
	{"every address", "listen: 0.0.0.0:3128\n", `FILE:1: listen: "0.0.0.0:3128" can be reached from other machines, so anyone could use this proxy; name the clients in clients.allow, or listen on 127.0.0.1:3128`},
	{"every address, the short form", "listen: :3128\n", `FILE:1: listen: ":3128" can be reached from other machines, so anyone could use this proxy; name the clients in clients.allow, or listen on 127.0.0.1:3128`},
	{"every address, IPv6", "listen: '[::]:8080'\n", `FILE:1: listen: "[::]:8080" can be reached from other machines, so anyone could use this proxy; name the clients in clients.allow, or listen on 127.0.0.1:8080`},
	{"a private address", "listen: 192.168.1.5:3128\n", `FILE:1: listen: "192.168.1.5:3128" can be reached from other machines, so anyone could use this proxy; name the clients in clients.allow, or listen on 127.0.0.1:3128`},
	{"a name that may be anything", "listen: proxy.example:3128\n", `FILE:1: listen: "proxy.example:3128" can be reached from other machines, so anyone could use this proxy; name the clients in clients.allow, or listen on 127.0.0.1:3128`},
	{"admin that is neither", "admin_listen: none\n", `FILE:1: admin_listen: "none" is neither HOST:PORT nor off; write for example 127.0.0.1:3129`},
	{"admin for everyone", "admin_listen: 0.0.0.0:3129\n", `FILE:1: admin_listen: "0.0.0.0:3129" can be reached from other machines, and the admin listener has no access control; listen on 127.0.0.1:3129, or write off`},
	{"one address for two listeners", "admin_listen: 127.0.0.1:3128\n", `FILE:1: admin_listen: "127.0.0.1:3128" is the address of the proxy too (listen); write another port, or off`},

	// Who heed is.
	{"a bare address", "contact: bot@example.com\n", `FILE:1: contact: "bot@example.com" is not a URL that leads to you; write for example https://example.com/bot or mailto:bot@example.com`},
	{"a scheme that leads nowhere", "contact: ftp://example.com/\n", `FILE:1: contact: "ftp://example.com/" is not a URL that leads to you; write for example https://example.com/bot or mailto:bot@example.com`},
	{"mailto to nobody", "contact: 'mailto:'\n", `FILE:1: contact: "mailto:" is not a URL that leads to you; write for example https://example.com/bot or mailto:bot@example.com`},
	{"credentials in the URL", "contact: https://bot:hunter2@example.com/\n", `FILE:1: contact: "https://REDACTED@example.com/" holds credentials, and every origin gets to see it; leave out what stands before the @`},
	{"a parenthesis, which would end the comment", "contact: https://example.com/a)b\n", `FILE:1: contact: "https://example.com/a)b" has octets that cannot stand in a User-Agent comment; percent-encode everything outside ASCII, blanks, quotes and parentheses`},
	{"letters outside ASCII", "contact: https://example.com/käse\n", `FILE:1: contact: "https://example.com/käse" has octets that cannot stand in a User-Agent comment; percent-encode everything outside ASCII, blanks, quotes and parentheses`},

	// Tunnels.
	{"an unknown mode", "https:\n  mode: mitm\n", `FILE:2: https.mode: "mitm" is not one of intercept, tunnel and deny`},
	{"an exception with a URL", "https:\n  exceptions: [{host: 'https://a.example/', mode: deny}]\n", `FILE:2: https.exceptions[0].host: "https://a.example/" is not a host; write example.com, *.example.com or an address, without scheme, port and path`},
	{"an exception with a port", "https:\n  exceptions: [{host: 'a.example:443', mode: deny}]\n", `FILE:2: https.exceptions[0].host: "a.example:443" is not a host; write example.com, *.example.com or an address, without scheme, port and path`},
	{"an exception for all", "https:\n  exceptions: [{host: '*', mode: deny}]\n", `FILE:2: https.exceptions[0].host: "*" is not a host; write example.com, *.example.com or an address, without scheme, port and path`},
	{"a star within", "https:\n  exceptions: [{host: 'a.*.example', mode: deny}]\n", `FILE:2: https.exceptions[0].host: "a.*.example" is not a host; write example.com, *.example.com or an address, without scheme, port and path`},
	{"a star before an address", "https:\n  exceptions: [{host: '*.10.0.0.1', mode: deny}]\n", `FILE:2: https.exceptions[0].host: "*.10.0.0.1" has nothing below it: *. goes before a name, not an address`},
	{"an exception without a host", "https:\n  exceptions:\n    - mode: deny\n", `FILE:3: https.exceptions[0]: has no host; write host: example.com or *.example.com`},
	{"an exception without a mode", "https:\n  exceptions:\n    - host: a.example\n", `FILE:3: https.exceptions[0]: has no mode; write mode: intercept, tunnel or deny`},
	{"an exception with an unknown mode", "https:\n  exceptions:\n    - {host: a.example, mode: bypass}\n", `FILE:3: https.exceptions[0].mode: "bypass" is not one of intercept, tunnel and deny`},
	{"two exceptions for one host", "https:\n  exceptions:\n    - {host: a.example, mode: deny}\n    - {host: A.EXAMPLE, mode: tunnel}\n", `FILE:4: https.exceptions[1].host: "a.example" already has an exception, https.exceptions[0]; keep one of them`},
	{"no port at all", "connect_ports: []\n", `FILE:1: connect_ports: "[]" allows no port at all; name the ports that CONNECT may use, or write https.mode: deny`},
	{"port 0", "connect_ports: [0]\n", `FILE:1: connect_ports[0]: "0" is not a port or a range of ports; write for example 443 or "1024-65535"`},
	{"a range that runs backwards", "connect_ports: [90-80]\n", `FILE:1: connect_ports[0]: "90-80" is not a port or a range of ports; write for example 443 or "1024-65535"`},
	{"a port by name", "connect_ports: [https]\n", `FILE:1: connect_ports[0]: "https" is not a port or a range of ports; write for example 443 or "1024-65535"`},

	// Connections.
	{"two parts of four", "connect_to: ['a.example:443']\n", `FILE:1: connect_to[0]: connect-to "a.example:443" has 2 parts, not the 4 of HOST1:PORT1:HOST2:PORT2 (an IPv6 address goes in brackets)`},
	{"a port that is no port", "connect_to: [':80:127.0.0.1:http']\n", `FILE:1: connect_to[0]: connect-to ":80:127.0.0.1:http": PORT2: port "http" is not a number`},
	{"a name where a network belongs", "allow_address: [localhost]\n", `FILE:1: allow_address[0]: "localhost" is neither a network nor an address; write for example 10.0.0.0/8, 127.0.0.1 or fd00::/8`},
	{"octets beyond the prefix", "allow_address: [10.1.2.3/8]\n", `FILE:1: allow_address[0]: "10.1.2.3/8" has octets beyond its prefix; write 10.0.0.0/8`},
	{"a prefix too long", "allow_address: [10.0.0.0/33]\n", `FILE:1: allow_address[0]: "10.0.0.0/33" is neither a network nor an address; write for example 10.0.0.0/8, 127.0.0.1 or fd00::/8`},
	{"IPv4 in IPv6 form", "allow_address: ['::ffff:127.0.0.1']\n", `FILE:1: allow_address[0]: "::ffff:127.0.0.1" is an IPv4 address in IPv6 form, which matches nothing; write 127.0.0.1`},
	{"a zone", "allow_address: ['fe80::1%eth0']\n", `FILE:1: allow_address[0]: "fe80::1%eth0" is neither a network nor an address; write for example 10.0.0.0/8, 127.0.0.1 or fd00::/8`},
	{"a file that is not there", "upstream:\n  roots: absent.pem\n", `FILE:2: upstream.roots: reading certificates: open DIR/absent.pem: no such file or directory`},
	{"a file without certificates", "upstream:\n  roots: heed.yaml\n", `FILE:2: upstream.roots: "FILE" has no certificate in PEM form; name a file with -----BEGIN CERTIFICATE----- in it`},
	{"a proxy without its scheme", "upstream:\n  proxy: proxy.example:3128\n", `FILE:2: upstream.proxy: proxy "proxy.example:3128" is not of the form http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT`},
	{"a proxy of another protocol", "upstream:\n  proxy: socks4://u:hunter2@proxy.example:1080\n", `FILE:2: upstream.proxy: proxy "socks4://REDACTED@proxy.example:1080" is not of the form http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT`},
	{"a proxy without its port", "upstream:\n  proxy: http://proxy.example\n", `FILE:2: upstream.proxy: proxy "http://proxy.example" has no port, and programs differ in which one that means; write for example http://proxy.example:3128`},
	{"a proxy with a path", "upstream:\n  proxy: http://proxy.example:3128/proxy.pac\n", `FILE:2: upstream.proxy: proxy "http://proxy.example:3128/proxy.pac" has more than scheme, host and port; write for example http://proxy.example:3128`},
	{"a slash in a proxy's password", "upstream:\n  proxy: http://u:12/hunter2@proxy.example:3128\n", `FILE:2: upstream.proxy: proxy "http://REDACTED@proxy.example:3128" has more than scheme, host and port; write for example http://proxy.example:3128`},
	{"a percent sign in a proxy's password", "upstream:\n  proxy: http://u:hunter%2@proxy.example:3128\n", `FILE:2: upstream.proxy: proxy "http://REDACTED@proxy.example:3128" is not a URL; write for example http://proxy.example:3128, with octets of a password that are neither letters nor digits percent-encoded`},
	{"half of a proxy's credentials", "upstream:\n  proxy: socks5://lab@proxy.example:1080\n", `FILE:2: upstream.proxy: proxy "socks5://REDACTED@proxy.example:1080": SOCKS takes a user and a password of 1 to 255 octets each (RFC 1929 §2)`},
	{"a proxy by a number that is no address", "upstream:\n  proxy: http://2130706433:3128\n", `FILE:2: upstream.proxy: proxy "http://2130706433:3128" has no host that can be one; write for example http://proxy.example:3128`},
	{"the environment in the wrong case", "upstream:\n  proxy: Environment\n", `FILE:2: upstream.proxy: proxy "Environment" is not of the form http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT`},
	{"a URL where a destination belongs", "upstream:\n  direct: ['http://a.example']\n", `FILE:2: upstream.direct[0]: "http://a.example" is neither a network nor an address; write for example 10.0.0.0/8, 127.0.0.1 or fd00::/8`},
	{"a destination with a port", "upstream:\n  direct: ['a.example:80']\n", `FILE:2: upstream.direct[0]: "a.example:80" is neither a host nor a network; write example.com, *.example.com, 10.0.0.0/8 or an address, without scheme and port`},
	{"everyone as a client", "clients:\n  allow: [0.0.0.0/0]\n", `FILE:2: clients.allow[0]: "0.0.0.0/0" lets every machine use this proxy; name your own networks, for example 10.0.0.0/8`},

	// Overrides.
	{"nothing in an override", "overrides:\n  - {}\n", `FILE:2: overrides[0]: has no origin; write origin: https://a.example, or host: a.example or *.a.example
FILE:2: overrides[0]: has no action; write action: allow, disallow, unavailable or file
FILE:2: overrides[0]: has no reason; write reason: written consent of the site, or whatever it is
FILE:2: overrides[0]: has no owner; write owner: lab admin, or whoever answers for it`},
	{"a section where the list belongs", "overrides:\n  a.example: allow\n", `FILE:2: overrides: not a list; write [a, b] or lines that begin with a dash`},
	{"a host alone", "overrides: [a.example]\n", `FILE:1: overrides[0]: not a section; write KEY: VALUE lines with the keys origin, host, action, file, reason, reference, owner, expires`},
	{"a slip of the pen in an override", with("reasons: x"), `FILE:7: overrides[0].reasons: no such key; did you mean "reason"?`},
	{"an origin and a host", with("host: a.example"), `FILE:7: overrides[0].host: "a.example" stands beside an origin; write one of the two: origin is one scheme, host and port, host is all of a host's`},
	{"a path on an origin", but("origin: https://a.example/x"), `FILE:2: overrides[0].origin: "https://a.example/x" is not an origin; write for example https://a.example or http://a.example:8080, without a path`},
	{"a host for an origin", but("origin: a.example"), `FILE:2: overrides[0].origin: "a.example" is not an origin; write for example https://a.example or http://a.example:8080, without a path`},
	{"many hosts for an origin", but("origin: https://*.a.example"), `FILE:2: overrides[0].origin: "https://*.a.example" is not an origin; write for example https://a.example or http://a.example:8080, without a path`},
	{"credentials in an origin", but("origin: https://bot:hunter2@a.example"), `FILE:2: overrides[0].origin: "https://REDACTED@a.example" is not an origin; write for example https://a.example or http://a.example:8080, without a path`},
	{"an action that is none", but("action: ignore"), `FILE:3: overrides[0].action: "ignore" is not one of allow, disallow, unavailable and file`},
	{"a file that no action reads", with("file: heed.yaml"), `FILE:7: overrides[0].file: "DIR/heed.yaml" is read with the action file alone; write action: file, or leave it out`},
	{"no file to use", but("action: file"), `FILE:2: overrides[0]: has no file; write file: the path of a robots.txt of yours`},
	{"a file to use that is not there", but("action: file") + "    file: absent.txt\n", `FILE:7: overrides[0].file: reading the robots.txt of an override: stat DIR/absent.txt: no such file or directory`},
	{"a folder to use", but("action: file") + "    file: .\n", `FILE:7: overrides[0].file: "DIR" is not a file; name a robots.txt of yours`},
	{"a file to use that is something else", but("action: file") + "    file: heed.yaml\n", `FILE:7: overrides[0].file: "FILE" has no line "User-agent: NAME", so that it is no robots.txt, or one that allows everything; heed lint says more of it, and to allow everything write action: allow`},
	{"nobody said why", but("reason: ''"), `FILE:2: overrides[0]: has no reason; write reason: written consent of the site, or whatever it is`},
	{"nobody answers for it", but("owner: '  '"), `FILE:2: overrides[0]: has no owner; write owner: lab admin, or whoever answers for it`},
	{"allowed for ever", "overrides: [{host: a.example, action: allow, reason: r, owner: o}]\n", `FILE:1: overrides[0]: has no expires; write expires: 2027-03-31, or whichever day is the last: only the action disallow may be for ever`},
	{"a date the wrong way round", but("expires: 31.03.2027"), `FILE:6: overrides[0].expires: "31.03.2027" is neither a date nor a time; write for example 2027-03-31, which ends with that day in UTC, or 2027-03-31T12:00:00Z`},
	{"a day that is not", but("expires: 2027-02-30"), `FILE:6: overrides[0].expires: "2027-02-30" is neither a date nor a time; write for example 2027-03-31, which ends with that day in UTC, or 2027-03-31T12:00:00Z`},
	{"a time of nowhere", but("expires: 2027-03-31T12:00:00"), `FILE:6: overrides[0].expires: "2027-03-31T12:00:00" is neither a date nor a time; write for example 2027-03-31, which ends with that day in UTC, or 2027-03-31T12:00:00Z`},
	{"a day before time began, which would be never", but("expires: 1969-12-31"), `FILE:6: overrides[0].expires: "1969-12-31" is neither a date nor a time; write for example 2027-03-31, which ends with that day in UTC, or 2027-03-31T12:00:00Z`},
	{"a time that no year can be written for", but("expires: 9999-12-31T23:59:59-01:00"), `FILE:6: overrides[0].expires: "9999-12-31T23:59:59-01:00" is neither a date nor a time; write for example 2027-03-31, which ends with that day in UTC, or 2027-03-31T12:00:00Z`},
	{"a reason that no field holds", but("reason: " + strings.Repeat("é", 101)), `FILE:4: overrides[0].reason: "` + strings.Repeat("é", 101) + `" is longer than 200 octets; clients are shown it, so say it shortly and put the rest where reference leads`},
	{"a terminal's escape in a reason", but("reason: \"a\\e[2Jb\""), `FILE:4: overrides[0].reason: "a\x1b[2Jb" has characters that cannot be seen; write plain text`},
	{"marks that turn the writing round", but("owner: \"a\\u202eb\""), `FILE:5: overrides[0].owner: "a\u202eb" has characters that cannot be seen; write plain text`},
	{"credentials in a reference", with("reference: https://me:hunter2@tickets.example/1"), `FILE:7: overrides[0].reference: "https://REDACTED@tickets.example/1" holds what looks like credentials (//NAME@), and clients are shown it; leave out what stands before the @`},
	{"two for one origin", but("") + "  - {origin: 'HTTPS://A.example:443/', action: disallow, reason: r, owner: o}\n", `FILE:7: overrides[1].origin: "https://a.example" already has an override, overrides[0]; keep one of them`},
	{"two for the same hosts", "overrides:\n  - {host: '*.a.example', action: disallow, reason: r, owner: o}\n  - {host: '*.A.example', action: disallow, reason: r, owner: o}\n", `FILE:3: overrides[1].host: "*.a.example" already has an override, overrides[0]; keep one of them`},

	// Modes.
	{"a mode that is none", "mode: warn\n", `FILE:1: mode: "warn" is not one of enforce and report`},
	{"a mode of https", "mode: tunnel\n", `FILE:1: mode: "tunnel" is not one of enforce and report`},
	{"nothing in a mode", "modes:\n  - {}\n", `FILE:2: modes[0]: has no origin; write origin: https://a.example, or host: a.example or *.a.example
FILE:2: modes[0]: has no mode; write mode: enforce or report`},
	{"a mode of its own that is none", "modes: [{host: a.example, mode: allow}]\n", `FILE:1: modes[0].mode: "allow" is not one of enforce and report`},
	{"a mode for an origin and a host", "modes: [{origin: 'https://a.example', host: a.example, mode: report}]\n", `FILE:1: modes[0].host: "a.example" stands beside an origin; write one of the two: origin is one scheme, host and port, host is all of a host's`},
	{"two modes for one origin", "modes:\n  - {origin: 'https://a.example', mode: report}\n  - {origin: 'https://A.example:443', mode: enforce}\n", `FILE:3: modes[1].origin: "https://a.example" already has a mode, modes[0]; keep one of them`},
	{"two modes for the same hosts", "modes:\n  - {host: '*.a.example', mode: report}\n  - {host: '*.A.example', mode: report}\n", `FILE:3: modes[1].host: "*.a.example" already has a mode, modes[0]; keep one of them`},
	{"a mode of a client that is none", "clients:\n  named:\n    - {name: news, addresses: [10.0.0.1], mode: tunnel}\n", `FILE:3: clients.named[0].mode: "tunnel" is not one of enforce and report`},

	// Bounds.
	{"a client that waits and has no name", "pace:\n  patient: [{hold: 1m}]\n", `FILE:2: pace.patient[0]: has no token; write token: ExampleBot, the product token that the client goes by`},
	{"a client that waits, with its version", "pace:\n  patient: [{token: Scrapy/2, hold: 1m}]\n", `FILE:2: pace.patient[0].token: "Scrapy/2" is no product token; write letters, digits, - and _ alone, without a version`},
	{"a client that waits twice", "pace:\n  patient:\n    - {token: Scrapy, hold: 1m}\n    - {token: scrapy, hold: 2m}\n", `FILE:4: pace.patient[1].token: "scrapy" stands in pace.patient[0] already; keep one of them`},
	{"a request that waits for longer than anybody does", "pace:\n  hold: 1h\n", `FILE:2: pace.hold: "1h" is not between 0s and 15m`},
	{"no room for anybody to wait", "pace:\n  queue: 0\n", `FILE:2: pace.queue: "0" is not between 1 and 10000`},
	{"fewer than none", "pace:\n  per_origin: -1\n", `FILE:2: pace.per_origin: "-1" is not between 0 and 65536`},
	{"no delay that a site is granted", "pace:\n  max_delay: 0s\n", `FILE:2: pace.max_delay: "0s" is not between 1s and 24h`},
	{"a share that is no number", "pace:\n  target_concurrency: NaN\n", `FILE:2: pace.target_concurrency: "NaN" is not a number of 0 or more; write for example 1.5`},
	{"fresher than a day", "robots:\n  fresh_for: 48h\n", `FILE:2: robots.fresh_for: "48h" is not between 1s and 24h (RFC 9309 §2.4: no copy is used for more than 24 hours)`},
	{"a refusal that means something else", "robots:\n  refused: allowed\n", `FILE:2: robots.refused: "allowed" is not one of unavailable and disallowed`},
	{"a floor of more than a day", "robots:\n  fresh_min: 48h\n", `FILE:2: robots.fresh_min: "48h" is not between 1s and 24h`},
	{"nobody at one address", "robots:\n  per_address: 0\n", `FILE:2: robots.per_address: "0" is not between 1 and 65536`},
	{"no memory", "cache:\n  max_bytes: 1KiB\n", `FILE:2: cache.max_bytes: "1KiB" is not between 1MiB and 1024GiB`},
	{"never fresh", "robots:\n  fresh_for: 0s\n", `FILE:2: robots.fresh_for: "0s" is not between 1s and 24h (RFC 9309 §2.4: no copy is used for more than 24 hours)`},
	{"less than RFC 9309 asks for", "robots:\n  limit: 100KiB\n", `FILE:2: robots.limit: "100KiB" is not between 500KiB and 64MiB (RFC 9309 §2.5: at least 500 KiB are read)`},
	{"a limit of a gigabyte", "robots:\n  limit: 1GiB\n", `FILE:2: robots.limit: "1GiB" is not between 500KiB and 64MiB (RFC 9309 §2.5: at least 500 KiB are read)`},
	{"stale for ever", "robots:\n  stale_for: 99999h\n", `FILE:2: robots.stale_for: "99999h" is not between 0s and 8784h`},
	{"no timeout", "timeouts:\n  connect: 0s\n", `FILE:2: timeouts.connect: "0s" is not between 100ms and 10m`},
	{"a negative timeout", "timeouts:\n  connect: -1s\n", `FILE:2: timeouts.connect: "-1s" is not a length of time; write for example 10s, 5m or 24h`},
	{"no fetch at all", "robots:\n  concurrency: 0\n", `FILE:2: robots.concurrency: "0" is not between 1 and 65536`},
	{"a target longer than the header it is in", "limits:\n  header: 8KiB\n", `FILE:2: limits.header: "8KiB" leaves no room: a request-target (limits.url, 16KiB) is part of a header section (limits.header, 8KiB)`},
	{"a header shorter than the target in it", "limits:\n  url: 128KiB\n", `FILE:2: limits.url: "128KiB" leaves no room: a request-target (limits.url, 128KiB) is part of a header section (limits.header, 64KiB)`},
	{"an unknown level", "log:\n  level: verbose\n", `FILE:2: log.level: "verbose" is not one of debug, info, warn and error`},
	{"an unknown format", "log:\n  format: xml\n", `FILE:2: log.format: "xml" is not one of auto, json and console`},

	// Several faults at once.
	{"all values that cannot be read", "listen: [x]\nrobots:\n  timeout: soon\n  limit: much\n", "FILE:1: listen: a list or a section where one value belongs\nFILE:3: robots.timeout: \"soon\" is not a length of time; write for example 10s, 5m or 24h\nFILE:4: robots.limit: \"much\" is not a size; write for example 500KiB or 64MiB"},
	{"all values that make no sense", "listen: x\nrobots:\n  fresh_for: 25h\n", "FILE:1: listen: \"x\" is not HOST:PORT; write for example 127.0.0.1:3128\nFILE:3: robots.fresh_for: \"25h\" is not between 1s and 24h (RFC 9309 §2.4: no copy is used for more than 24 hours)"},
}

// but is an override that is right, with one line changed.
func but(line string) string {
	lines := []string{"origin: https://a.example", "action: allow", "reason: written consent", "owner: lab admin", "expires: 2027-03-31"}
	key, _, _ := strings.Cut(line, ":")
	for i, l := range lines {
		if strings.HasPrefix(l, key+":") {
			lines[i] = line
		}
	}
	return "overrides:\n  - " + strings.Join(lines, "\n    ") + "\n"
}

// with is an override that is right, with one line more.
func with(line string) string { return but("") + "    " + line + "\n" }

func TestBadFilesAreRefusedByTheirExactFault(t *testing.T) {
	for _, row := range badFiles {
		t.Run(row.reason, func(t *testing.T) {
			path := write(t, row.file)
			want := strings.NewReplacer("FILE", path, "DIR", filepath.Dir(path)).Replace(row.fault)
			c, err := Load(path)
			if err == nil {
				t.Fatalf("was accepted:\n%s", row.file)
			}
			if got := err.Error(); got != want {
				t.Errorf("\n%s\nfault: %s\nwant:  %s", row.file, got, want)
			}
			if c.Listen != "" {
				t.Error("a configuration came with the fault")
			}
		})
	}
}
