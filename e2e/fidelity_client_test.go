package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// client returns net/http's client for the way, with which what HTTP means is
// tried; wires (below) are for its octets.
func (r *trial) client() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(r.way.client == http11)
	protocols.SetHTTP2(r.way.client == http2)
	tr := &http.Transport{
		Protocols:             protocols,
		TLSClientConfig:       &tls.Config{RootCAs: r.trust},
		DisableCompression:    true,
		ExpectContinueTimeout: patience,
	}
	switch r.channel {
	case intercepted:
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: r.heed.Proxy})
	case tunnelled:
		tr.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) { return r.tunnel(ctx, addr) }
	default: // the target of request's is in absolute-form by itself
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", r.heed.Proxy)
		}
	}
	r.t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// request makes a request for client. Fields are "Name: value".
func (r *trial) request(method, authority, path string, body io.Reader, fields ...string) *http.Request {
	scheme := "http"
	if r.channel == intercepted {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(r.ctx, method, scheme+"://"+authority+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.channel == plain || r.channel == secure {
		req.URL.Opaque = r.url(authority, path)
		req.URL.RawQuery, req.URL.ForceQuery = "", false
	}
	req.Header.Set("User-Agent", "ExampleBot/1.0")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header[name] = append(req.Header[name], value)
	}
	return req
}

// do makes one exchange with a client of its own.
func (r *trial) do(method, authority, path string, body io.Reader, fields ...string) (*http.Response, error) {
	return r.send(r.client(), r.request(method, authority, path, body, fields...))
}

func (r *trial) send(tr *http.Transport, req *http.Request) (*http.Response, error) {
	if body := req.Body; body != nil { // net/http waits for one that is being read
		defer context.AfterFunc(r.ctx, func() { body.Close() })()
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	if (resp.ProtoMajor == 2) != (r.way.client == http2) {
		return nil, fmt.Errorf("the client was answered in %s", resp.Proto)
	}
	return resp, nil
}

// mismatch is an error about what came, and of the error that came with it if
// there was one.
func mismatch(err error, format string, args ...any) error {
	return errors.Join(fmt.Errorf(format, args...), err)
}

// url is the absolute form of a path at an origin.
func (r *trial) url(authority, path string) string {
	if r.overTLS() {
		return "https://" + authority + path
	}
	return "http://" + authority + path
}

// wire is one end of a connection on which HTTP/1 is spoken octet by octet.
type wire struct {
	net.Conn
	r      *bufio.Reader
	target func(path string) string // a client's: the form that its channel has
	host   string
	proto  version
}

// tunnel connects to heed and has it accept a CONNECT.
func (r *trial) tunnel(ctx context.Context, authority string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", r.heed.Proxy)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", authority); err != nil {
		c.Close()
		return nil, err
	}
	head := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(c, head); err != nil || !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		c.Close()
		return nil, fmt.Errorf("CONNECT %s: %q, %w", authority, head, err)
	}
	return c, nil
}

// dial opens a wire to an origin through the way's channel.
func (r *trial) dial(authority string) (*wire, error) {
	w := &wire{host: authority, proto: r.way.client, target: func(path string) string { return path }}
	var err error
	switch r.channel {
	case plain, secure:
		w.target = func(path string) string { return r.url(authority, path) }
		w.Conn, err = net.Dial("tcp", r.heed.Proxy)
	default:
		w.Conn, err = r.tunnel(r.ctx, authority)
	}
	if err != nil {
		return nil, err
	}
	if r.channel == intercepted {
		name, _, _ := net.SplitHostPort(authority)
		c := tls.Client(w.Conn, &tls.Config{RootCAs: r.trust, ServerName: name, NextProtos: []string{"http/1.1"}})
		if err := c.HandshakeContext(r.ctx); err != nil {
			return nil, fmt.Errorf("TLS inside the tunnel: %w", err)
		}
		w.Conn = c
	}
	_ = w.SetDeadline(time.Now().Add(patience))
	w.r = bufio.NewReader(w.Conn)
	r.t.Cleanup(func() { w.Close() })
	return w, nil
}

func (w *wire) writeAll(octets string) error {
	_, err := io.WriteString(w, octets)
	return err
}

// head is the octets of a request's head. Unless the fields name a Host, it
// comes first.
func (w *wire) head(method, path string, fields ...string) string {
	if !slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(strings.ToLower(f), "host:") }) {
		fields = append([]string{"Host: " + w.host}, fields...)
	}
	return fmt.Sprintf("%s %s HTTP/%s\r\n%s\r\n\r\n", method, w.target(path), w.proto, strings.Join(fields, "\r\n"))
}

// ask writes a request without a body and reads the final answer whole.
func (w *wire) ask(method, path string, fields ...string) (message, error) {
	if err := w.writeAll(w.head(method, path, fields...)); err != nil {
		return message{}, err
	}
	return w.read(method)
}

// read reads the final answer to a request, whole.
func (w *wire) read(method string) (message, error) {
	for {
		m, err := w.readHead()
		if err != nil {
			return m, fmt.Errorf("reading the answer to %s: %w", method, err)
		}
		if status := m.status(); status >= 200 || status == 101 {
			if method == "HEAD" || status == 204 || status == 304 || status == 101 {
				return m, nil
			}
			return w.readBody(m, true)
		}
	}
}

// message is a request or an answer as it was on the wire: lines without their
// ends.
type message struct {
	line     string
	fields   []string
	body     []byte
	trailers []string
}

func (m message) status() int {
	_, rest, _ := strings.Cut(m.line, " ")
	status, _ := strconv.Atoi(rest[:min(3, len(rest))])
	return status
}

// get returns the value of the first field of a name, in any case.
func (m message) get(name string) (string, bool) {
	for _, f := range m.fields {
		if n, value, _ := strings.Cut(f, ":"); strings.EqualFold(n, name) {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// without returns the fields less some names.
func (m message) without(names ...string) []string {
	var left []string
	for _, f := range m.fields {
		name, _, _ := strings.Cut(f, ":")
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			left = append(left, f)
		}
	}
	return left
}

func (w *wire) readHead() (message, error) {
	lines, err := w.readLines()
	if err != nil || len(lines) == 0 {
		return message{}, errors.Join(err, errIf(err == nil, "an empty line where a head was to begin"))
	}
	return message{line: lines[0], fields: lines[1:]}, nil
}

func errIf(is bool, text string) error {
	if is {
		return errors.New(text)
	}
	return nil
}

// readLines reads to the empty line.
func (w *wire) readLines() ([]string, error) {
	var lines []string
	for {
		line, err := w.r.ReadString('\n')
		if err != nil {
			return lines, err
		}
		if line = strings.TrimSuffix(line, "\r\n"); line == "" {
			return lines, nil
		}
		lines = append(lines, line)
	}
}

// readBody reads what follows a head: in chunks, by length, or else to the end
// of the connection if toTheEnd, as answers may have it.
func (w *wire) readBody(m message, toTheEnd bool) (message, error) {
	var err error
	length, has := m.get("Content-Length")
	coding, _ := m.get("Transfer-Encoding")
	switch {
	case coding == "chunked":
		if m.body, err = io.ReadAll(httputil.NewChunkedReader(w.r)); err == nil {
			m.trailers, err = w.readLines()
		}
	case has:
		n, _ := strconv.Atoi(length)
		m.body = make([]byte, n)
		_, err = io.ReadFull(w.r, m.body)
	case toTheEnd:
		m.body, err = io.ReadAll(w.r)
	}
	if err != nil {
		return m, fmt.Errorf("reading a body: %w", err)
	}
	return m, nil
}

// countDials counts the connections that a client opens to heed.
func countDials(tr *http.Transport) *atomic.Int32 {
	n, dial := new(atomic.Int32), tr.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, network, addr)
	}
	return n
}
