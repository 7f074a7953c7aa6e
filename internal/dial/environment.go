package dial

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// ProxyFromEnvironment returns the proxy that HTTP_PROXY and HTTPS_PROXY name,
// which must be the same, and which targets NO_PROXY excepts from it, for
// Config.Proxy and Config.Direct; all as golang.org/x/net/http/httpproxy reads
// them, the lower-case names first. Nil and nil where neither is set. The error
// shows no credentials.
func ProxyFromEnvironment() (proxy *url.URL, direct func(host, port string) bool, err error) {
	env := httpproxy.FromEnvironment()
	switch {
	case env.HTTPProxy == "" && env.HTTPSProxy == "":
		return nil, nil, nil
	case env.HTTPProxy == "" || env.HTTPSProxy == "":
		return nil, nil, errors.New("reading the environment's proxy: of HTTP_PROXY and HTTPS_PROXY one is not set, and heed uses one proxy for both; set both, or write the proxy's URL in upstream.proxy")
	case env.HTTPProxy != env.HTTPSProxy:
		return nil, nil, errors.New("reading the environment's proxy: HTTP_PROXY and HTTPS_PROXY name two, and heed uses one proxy for both; write its URL in upstream.proxy")
	}
	named := env.HTTPSProxy
	if !strings.Contains(named, "://") {
		named = "http://" + named // as others read it
	}
	if proxy, err = ParseProxy(named); err != nil {
		return nil, nil, fmt.Errorf("reading the environment's proxy: HTTPS_PROXY: %w", err)
	}
	// Any URL of a proxy will do: it is the exceptions that are asked for.
	excepts := (&httpproxy.Config{HTTPSProxy: "http://proxy.invalid:1", NoProxy: env.NoProxy}).ProxyFunc()
	return proxy, func(host, port string) bool {
		to, err := excepts(&url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)})
		return err == nil && to == nil
	}, nil
}
