package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log" //nolint:depguard // net/http asks for one: Server.ErrorLog
	"net"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"heed/bench/engine/load"
)

// servers are one for http and one for https, for all hosts.
type servers struct {
	plain, secure string // host:port
	roots         string // a file with the root of their certificates
	all           []*http.Server
}

// serve begins.
func (w *web) serve(ctx context.Context) error {
	names := make([]string, 0, len(w.sites))
	for _, s := range w.sites {
		names = append(names, s.host)
	}
	own, err := load.NewIdentity(names...)
	if err != nil {
		return err
	}
	if w.roots, err = temporary("roots-*.pem", own.CA); err != nil {
		return err
	}
	if w.plain, err = w.listen(ctx, nil); err != nil {
		return err
	}
	w.secure, err = w.listen(ctx, &tls.Config{Certificates: []tls.Certificate{own.Certificate}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12})
	return err
}

func (w *web) listen(ctx context.Context, c *tls.Config) (addr string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: w, TLSConfig: c, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	w.all = append(w.all, s)
	go func() {
		if c == nil {
			_ = s.Serve(l) // until it is closed
		} else {
			_ = s.ServeTLS(l, "", "")
		}
	}()
	return l.Addr().String(), nil
}

func (w *web) close() {
	for _, s := range w.all {
		_ = s.Close() // they only answered
	}
	if w.roots != "" {
		_ = os.Remove(w.roots)
	}
}

func temporary(pattern string, octets []byte) (name string, err error) {
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(octets)
	return f.Name(), errors.Join(err, f.Close())
}

// ServeHTTP answers a page as its query asks for, and is the witness.
func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	host, _, found := strings.Cut(r.Host, ":")
	s := w.byHost[host]
	switch {
	case found && s == nil, s == nil:
		http.Error(out, "no such site", http.StatusMisdirectedRequest)
	case r.URL.Path == "/robots.txt" || r.URL.Path == "/moved-robots.txt":
		s.serveRobots(out, r)
	default:
		w.witness(s, r)
		serveAs(r.URL.Query().Get("as"), out, r)
	}
}

// witness looks whether a request may be here: as it was asked for, and as a server
// that cleans paths takes it.
func (w *web) witness(s *site, r *http.Request) {
	agent, _, _ := strings.Cut(r.UserAgent(), "/")
	w.tally.arrived.Add(1)
	for _, p := range []string{r.URL.EscapedPath(), path.Clean(r.URL.Path)} {
		if target := p + "?" + r.URL.RawQuery; !s.allows(agent, target) {
			w.tally.wrong("%s reached %s%s, which is %s", agent, s.host, r.RequestURI, target)
			return
		}
	}
}

func (s *site) serveRobots(out http.ResponseWriter, r *http.Request) {
	switch {
	case s.fault == absent:
		http.NotFound(out, r)
	case s.fault == failing:
		out.WriteHeader(http.StatusInternalServerError)
	case s.fault == silent:
		<-r.Context().Done()
	case s.fault == cut:
		out.Header().Set("Content-Length", strconv.Itoa(len(s.robots)+100))
		_, _ = io.WriteString(out, s.robots)
		panic(http.ErrAbortHandler)
	case s.fault == moved && r.URL.Path == "/robots.txt":
		http.Redirect(out, r, "/moved-robots.txt", http.StatusFound)
	default:
		_, _ = io.WriteString(out, s.robots)
	}
}

// kinds are how pages are answered.
var kinds = []string{"", "", "", "", "", "", "large", "chunks", "drip", "cut", "reset", "failing", "none", "moved", "trailer"}

var block = []byte(strings.Repeat("0123456789abcdef", 4<<10))

func serveAs(kind string, out http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	flush := func() { _ = http.NewResponseController(out).Flush() }
	switch kind {
	case "large":
		for range 16 {
			if _, err := out.Write(block); err != nil {
				return
			}
		}
	case "chunks":
		for range 20 {
			_, _ = out.Write(block[:100])
			flush()
		}
	case "drip":
		for range 20 {
			_, _ = out.Write(block[:1])
			flush()
			select {
			case <-time.After(50 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
	case "cut":
		out.Header().Set("Content-Length", "100000")
		_, _ = out.Write(block[:1000])
		flush()
		panic(http.ErrAbortHandler)
	case "reset":
		panic(http.ErrAbortHandler)
	case "failing":
		out.WriteHeader(http.StatusBadGateway)
	case "none":
		out.WriteHeader(http.StatusNoContent)
	case "moved":
		http.Redirect(out, r, "/a", http.StatusFound)
	case "trailer":
		out.Header().Set("Trailer", "X-End")
		_, _ = out.Write(block[:5000])
		out.Header().Set("X-End", "1")
	default:
		_, _ = io.WriteString(out, "a page of "+r.Host)
	}
}
