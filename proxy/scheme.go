package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
)

// errNoClients is what a listener says that has none.
var errNoClients = errors.New("no clients yet")

// noClients is a listener that fails at once.
type noClients struct{}

func (noClients) Accept() (net.Conn, error) { return nil, errNoClients }
func (noClients) Close() error              { return nil }
func (noClients) Addr() net.Addr            { return &net.TCPAddr{} }

// otherScheme stands in a request in place of the connection's TLS where :scheme
// is not https. net/http leaves it out then, and puts it in again before it calls
// a handler (initALPNRequest), so that nobody can tell.
var otherScheme = &tls.ConnectionState{}

// markScheme has requests in HTTP/2 whose :scheme is not https marked. The
// function that serves HTTP/2 is there to be put in another's place once the
// server has been started.
func markScheme(s *http.Server) {
	_ = s.Serve(noClients{}) // errNoClients
	serve := s.TLSNextProto["h2"]
	s.TLSNextProto["h2"] = func(s *http.Server, c *tls.Conn, h http.Handler) { serve(s, c, schemeHandler{h}) }
}

// schemeHandler marks requests.
type schemeHandler struct{ http.Handler }

// BaseContext is what net/http looks for in the handler that it has made itself:
// the context of the connection.
func (h schemeHandler) BaseContext() context.Context {
	return h.Handler.(interface{ BaseContext() context.Context }).BaseContext()
}

func (h schemeHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil {
		r.TLS = otherScheme
	}
	h.Handler.ServeHTTP(w, r)
}

// checkStream refuses what HTTP/2 lets through of a request that says two things
// of where it is for (RFC 9113 §8.3.1).
func checkStream(r *http.Request) error {
	switch hosts := r.Header["Host"]; {
	case r.Method == http.MethodConnect: // it has neither, and is refused for what it is
	case r.TLS == otherScheme:
		return errors.New(":scheme is not https inside a tunnel that carries https")
	case len(hosts) > 1 || len(hosts) == 1 && hosts[0] != r.Host:
		return errors.New("the Host field is not the same as :authority (RFC 9113 §8.3.1)")
	case !strings.HasPrefix(r.RequestURI, "/") && !wholeOrigin(r):
		return errors.New(":path does not begin with a slash (RFC 9113 §8.3.1)")
	}
	return nil
}
