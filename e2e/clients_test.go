package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// client is one unmodified program that people crawl with.
type client struct {
	name string
	// tokens are the product tokens by which a robots.txt names this client,
	// in one release or another; none for one that gives no name of its own.
	tokens []string
	// program is the command's beginning, or the reason why it is absent here.
	program func() ([]string, error)
	// version is what is put after program to have it print its version.
	version []string
	// argv is what is put after program to fetch urls; with each, it is started
	// once for every URL.
	argv func(urls ...string) []string
	each bool
	// read takes the answers from its standard output.
	read func(url string, stdout []byte) ([]answer, error)
	// byHand is what its user sets to go through a heed that runs.
	byHand func(s settings) []string
	// tunnel is what its user sees where the CONNECT itself is denied.
	tunnel sight
	// textOnly: it shows a page's text, neither octets nor fields nor status.
	textOnly bool
}

// settings is what a user reads off a heed that runs: where it is, its CA's
// certificate, the bundle of the system's roots and it, and what was made of
// them for the clients that want a store of their own.
type settings struct {
	url, host, port              string
	caFile, bundle               string
	trustStore, wgetrc, rprofile string
	home                         string // home holds an NSS database that trusts the CA
}

// sight is what reaches the user of a client when a CONNECT is denied.
type sight uint8

const (
	seesNumber sight = 1 << iota // the status
	seesPhrase                   // the reason phrase
	seesFields                   // the fields
	seesBody                     // the body
	seesFailure
)

func lower(s settings, more ...string) []string {
	return append([]string{"http_proxy=" + s.url, "https_proxy=" + s.url}, more...)
}

func upper(s settings, more ...string) []string {
	return append([]string{"HTTP_PROXY=" + s.url, "HTTPS_PROXY=" + s.url}, more...)
}

func asTheyAre(urls ...string) []string { return urls }

var clients = []client{
	{
		name: "curl", tokens: []string{"curl"}, program: onPath("curl"), version: []string{"--version"},
		argv: after("-sS", "-i", "--suppress-connect-headers", "--max-time", "30"), each: true, read: readMessage,
		byHand: func(s settings) []string { return lower(s, "CURL_CA_BUNDLE="+s.bundle) },
		tunnel: seesNumber,
	},
	{
		name: "wget", tokens: []string{"wget"}, program: onPath("wget"), version: []string{"--version"},
		argv: after("-nv", "--tries=1", "--timeout=30", "--save-headers", "--content-on-error", "-O", "-"), each: true, read: readMessage,
		byHand: func(s settings) []string { return lower(s, "WGETRC="+s.wgetrc) },
		tunnel: seesPhrase,
	},
	{
		name: "wget2", tokens: []string{"wget2", "wget"}, program: onPath("wget2"), version: []string{"--version"},
		argv: after("-nv", "--tries=1", "--timeout=30", "--save-headers", "--content-on-error", "-O", "-"), each: true, read: readMessage,
		// Releases before 2.0 speak TLS with the proxy itself for an https URL;
		// all of them leave TLS with the origin to the proxy.
		byHand: func(s settings) []string { return lower(s, "SYSTEM_WGET2RC="+s.wgetrc) },
		tunnel: seesNumber | seesFields | seesBody, // it has no tunnel: this is the answer itself
	},
	{
		name: "requests", tokens: []string{"python-requests"}, program: python("requests", "requests_client.py"), version: []string{"--version"},
		argv: asTheyAre, read: readAnswers,
		byHand: func(s settings) []string { return upper(s, "REQUESTS_CA_BUNDLE="+s.bundle) },
		tunnel: seesPhrase,
	},
	{
		name: "urllib", tokens: []string{"python-urllib"}, program: python("urllib", "urllib_client.py"), version: []string{"--version"},
		argv: asTheyAre, read: readAnswers,
		byHand: func(s settings) []string { return upper(s, "SSL_CERT_FILE="+s.bundle) },
		tunnel: seesPhrase,
	},
	{
		name: "httpx", tokens: []string{"python-httpx"}, program: python("httpx", "httpx_client.py"), version: []string{"--version"},
		argv: asTheyAre, read: readAnswers,
		byHand: func(s settings) []string { return upper(s, "SSL_CERT_FILE="+s.bundle) },
		tunnel: seesPhrase,
	},
	{
		name: "aiohttp", tokens: []string{"python"}, program: python("aiohttp", "aiohttp_client.py"), version: []string{"--version"},
		argv: asTheyAre, read: readAnswers,
		byHand: func(s settings) []string { return upper(s, "SSL_CERT_FILE="+s.bundle) },
		tunnel: seesPhrase | seesFields,
	},
	{
		name: "Scrapy", tokens: []string{"scrapy"}, program: python("scrapy", "scrapy_spider.py"), version: []string{"--version"},
		argv: asTheyAre, read: readAnswers,
		byHand: func(s settings) []string { return lower(s) }, // it verifies no certificate unless told to
		tunnel: seesPhrase,
	},
	{
		name: "Node fetch", tokens: []string{"node"}, program: node("fetch.mjs"), version: nil,
		argv: asTheyAre, read: readAnswers,
		byHand: nodeByHand,
		tunnel: seesNumber,
	},
	{
		name: "Node https", tokens: nil, program: node("https.mjs"), version: nil,
		argv: asTheyAre, read: readAnswers,
		byHand: nodeByHand,
		tunnel: seesPhrase,
	},
	{
		name: "axios", tokens: []string{"axios"}, program: node("axios.mjs", "axios"), version: []string{"--version"},
		argv: asTheyAre, read: readAnswers,
		byHand: nodeByHand,
		tunnel: seesNumber,
	},
	{
		name: "undici", tokens: []string{"undici"}, program: node("undici.mjs", "undici"), version: []string{"--version"},
		argv: asTheyAre, read: readAnswers,
		byHand: nodeByHand,
		tunnel: seesNumber,
	},
	{
		name: "Go", tokens: []string{"go-http-client"}, program: func() ([]string, error) { return []string{built.goClient}, nil }, version: nil,
		argv: asTheyAre, read: readAnswers,
		byHand: func(s settings) []string { return upper(s, "SSL_CERT_FILE="+s.bundle) },
		tunnel: seesPhrase,
	},
	{
		name: "R httr", tokens: []string{"libcurl"}, program: rscript, version: []string{"version"},
		argv: asTheyAre, read: readAnswers,
		byHand: func(s settings) []string { return lower(s, "CURL_CA_BUNDLE="+s.bundle, "R_PROFILE_USER="+s.rprofile) },
		tunnel: seesNumber,
	},
	{
		name: "Java HttpClient", tokens: []string{"java-http-client"}, program: java(), version: nil,
		argv: asTheyAre, read: readAnswers,
		byHand: javaByHand,
		tunnel: seesNumber,
	},
	{
		name: "Java URLConnection", tokens: []string{"java"}, program: java("urlconnection"), version: nil,
		argv: asTheyAre, read: readAnswers,
		byHand: javaByHand,
		tunnel: seesPhrase,
	},
	{
		name: "Chromium", tokens: nil, program: onPath("chromium", "certutil"), version: []string{"--version"},
		argv: after(
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
			"--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable", // a test of http:// stays one
			"--timeout=30000", "--dump-dom",
		), each: true, read: readDocument,
		byHand:   func(s settings) []string { return lower(s, "HOME="+s.home) },
		tunnel:   seesFailure,
		textOnly: true,
	},
}

func nodeByHand(s settings) []string {
	return upper(s, "NODE_USE_ENV_PROXY=1", "NODE_EXTRA_CA_CERTS="+s.caFile)
}

func javaByHand(s settings) []string {
	return []string{"JAVA_TOOL_OPTIONS=" + strings.Join([]string{
		"-Dhttp.proxyHost=" + s.host, "-Dhttp.proxyPort=" + s.port,
		"-Dhttps.proxyHost=" + s.host, "-Dhttps.proxyPort=" + s.port,
		"-Djavax.net.ssl.trustStore=" + s.trustStore,
		"-Djavax.net.ssl.trustStoreType=PKCS12",
		"-Djavax.net.ssl.trustStorePassword=" + trustStorePassword,
	}, " ")}
}

// after puts the URLs behind options.
func after(options ...string) func(urls ...string) []string {
	return func(urls ...string) []string {
		return append(options[:len(options):len(options)], urls...)
	}
}

// onPath finds a command, and others that its test needs.
func onPath(name string, others ...string) func() ([]string, error) {
	return func() ([]string, error) {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, err
		}
		for _, other := range others {
			if _, err := exec.LookPath(other); err != nil {
				return nil, err
			}
		}
		return []string{path}, nil
	}
}

// python finds an interpreter that can import the module: Debian's own, whose
// packages make deps installs, before another that comes first on PATH.
func python(module, script string) func() ([]string, error) {
	return func() ([]string, error) {
		for _, name := range []string{"/usr/bin/python3", "python3"} {
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			if exec.Command(path, "-c", "import "+module).Run() == nil {
				return []string{path, clientFile(script)}, nil
			}
		}
		return nil, fmt.Errorf("no python3 here can import %s", module)
	}
}

// node finds the first Node release line whose http, https and fetch know the
// proxy variables, on PATH or in e2e/node, and the packages that a script needs.
func node(script string, packages ...string) func() ([]string, error) {
	return func() ([]string, error) {
		for _, p := range packages {
			if _, err := os.Stat(filepath.Join("node", "node_modules", p, "package.json")); err != nil {
				return nil, fmt.Errorf("npm package %s is not in e2e/node/node_modules", p)
			}
		}
		arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
		if arch == "" {
			arch = runtime.GOARCH
		}
		found := "no node here"
		for _, name := range []string{"node", filepath.Join("node", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")} {
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			version, err := exec.Command(path, "--version").Output()
			if err != nil {
				continue
			}
			if knowsProxies(string(version)) {
				path, err = filepath.Abs(path)
				return []string{path, clientFile(script)}, err
			}
			found = "node " + strings.TrimSpace(string(version)) + " goes past every proxy; 22.21 and 24.5 are the first that do not"
		}
		return nil, errors.New(found)
	}
}

func knowsProxies(version string) bool {
	m := regexp.MustCompile(`^v(\d+)\.(\d+)\.`).FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1]) // digits by the pattern
	minor, _ := strconv.Atoi(m[2]) // digits by the pattern
	return major > 24 || major == 24 && minor >= 5 || major == 22 && minor >= 21
}

func rscript() ([]string, error) {
	path, err := exec.LookPath("Rscript")
	if err != nil {
		return nil, err
	}
	if err := exec.Command(path, "-e", "library(httr)").Run(); err != nil {
		return nil, errors.New("Rscript cannot load httr")
	}
	return []string{path, clientFile("httr.R")}, nil
}

func java(first ...string) func() ([]string, error) {
	return func() ([]string, error) {
		for _, name := range []string{"javac", "keytool"} { // the program is one source file
			if _, err := exec.LookPath(name); err != nil {
				return nil, err
			}
		}
		path, err := exec.LookPath("java")
		if err != nil {
			return nil, err
		}
		return append([]string{path, clientFile("Client.java")}, first...), nil
	}
}

func clientFile(name string) string {
	path, err := filepath.Abs(filepath.Join("clients", name))
	if err != nil {
		panic(err) // the working directory is gone
	}
	return path
}

// versionOf is the version a client gives of itself, "?" where it gives none.
func versionOf(c client, program []string) string {
	var out []byte
	switch {
	case c.version != nil:
		out, _ = exec.Command(program[0], append(program[1:len(program):len(program)], c.version...)...).CombinedOutput()
	case strings.HasPrefix(c.name, "Node"):
		out, _ = exec.Command(program[0], "--version").CombinedOutput()
	case strings.HasPrefix(c.name, "Java"):
		out, _ = exec.Command(program[0], "-version").CombinedOutput()
	case c.name == "Go":
		out = []byte(runtime.Version())
	}
	if v := regexp.MustCompile(`\d+(\.\d+)+`).Find(out); v != nil {
		return string(v)
	}
	return "?"
}
