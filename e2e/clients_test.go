package e2e

import (
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
