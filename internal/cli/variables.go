package cli

import (
	"net"
	"os"
	"strings"
)

// variable is one of a client's environment.
type variable struct{ name, value string }

// clientVariables returns what sends programs through the proxy at an address
// (host:port) and has them trust its CA. Which program reads which differs
// without a system, so all are set:
//
//   - curl, wget and R do not read HTTP_PROXY, and wget not HTTPS_PROXY; most
//     others read either case.
//   - Node reads the proxy's variables only if NODE_USE_ENV_PROXY is 1, and
//     Java never: it gets properties.
//   - All but Node and Deno replace their roots by the file, so it has the
//     system's roots too.
//
// NO_PROXY is left as it is.
func clientVariables(address string, files trust) []variable {
	url := "http://" + address
	vars := []variable{
		{"http_proxy", url},
		{"HTTP_PROXY", url},
		{"https_proxy", url},
		{"HTTPS_PROXY", url},
		{"all_proxy", url},
		{"ALL_PROXY", url},
		{"NODE_USE_ENV_PROXY", "1"},
	}
	for _, name := range []string{
		"SSL_CERT_FILE",        // OpenSSL and Go, and what stands on them: httpx, aiohttp, urllib, curl, Ruby, LWP
		"REQUESTS_CA_BUNDLE",   // Python requests
		"CURL_CA_BUNDLE",       // curl, R
		"NODE_EXTRA_CA_CERTS",  // Node
		"DENO_CERT",            // Deno
		"GIT_SSL_CAINFO",       // git
		"CARGO_HTTP_CAINFO",    // cargo
		"PIP_CERT",             // pip
		"AWS_CA_BUNDLE",        // the AWS tools
		"PERL_LWP_SSL_CA_FILE", // LWP
	} {
		vars = append(vars, variable{name, files.bundle})
	}
	return append(vars,
		variable{"WGETRC", files.wgetrc},
		variable{"WGET2RC", files.wget2rc},
		variable{"R_PROFILE_USER", files.rprofile},
		variable{"JAVA_TOOL_OPTIONS", javaOptions(os.Getenv("JAVA_TOOL_OPTIONS"), address, files.store)},
	)
}

// javaOptions adds heed's properties to those there are. Of two with one name
// the JVM takes the last. Java leaves localhost out of the proxy unless
// nonProxyHosts is empty.
func javaOptions(before, address, store string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		panic(err) // addresses come from a listener or were split before
	}
	options := []string{
		"-Dhttp.proxyHost=" + host, "-Dhttp.proxyPort=" + port,
		"-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port,
		"-Dhttp.nonProxyHosts=",
		javaQuote("-Djavax.net.ssl.trustStore=" + store),
		"-Djavax.net.ssl.trustStoreType=PKCS12",
		"-Djavax.net.ssl.trustStorePassword=" + storePassword,
	}
	ours := strings.Join(options, " ")
	before = strings.TrimSuffix(strings.TrimSuffix(before, ours), " ") // heed env, evaluated twice
	if before == "" {
		return ours
	}
	return before + " " + ours
}

// javaQuote quotes an option as the JVM reads the variable: white space ends
// an option outside quotes, and there is no escape within.
func javaQuote(option string) string {
	switch {
	case !strings.ContainsAny(option, " \t\n'\""):
		return option
	case !strings.Contains(option, `"`):
		return `"` + option + `"`
	}
	return "'" + option + "'"
}

// overlay returns an environment with variables set in it.
func overlay(environment []string, vars []variable) []string {
	set := map[string]bool{}
	for _, v := range vars {
		set[v.name] = true
	}
	var merged []string
	for _, pair := range environment {
		if name, _, _ := strings.Cut(pair, "="); !set[name] {
			merged = append(merged, pair)
		}
	}
	for _, v := range vars {
		merged = append(merged, v.name+"="+v.value)
	}
	return merged
}
