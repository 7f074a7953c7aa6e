package dial

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/proxy"
)

const (
	// answerLimit bounds the header of a proxy's answer to CONNECT.
	answerLimit = 64 << 10

	// phraseLimit bounds what of its reason phrase is shown.
	phraseLimit = 200
)

// tunnel returns a connection to a target that the upstream proxy made. It
// resolves the name.
func (d *Dialer) tunnel(ctx context.Context, to target) (net.Conn, error) {
	if err := d.checkTarget(to); err != nil {
		return nil, err
	}
	conn, err := d.dialProxy(ctx)
	if err != nil {
		return nil, err
	}
	if d.upstream.scheme == "socks5" {
		err = d.upstream.socks(ctx, conn, to.addr())
	} else {
		err = d.upstream.connect(ctx, conn, to.addr())
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// connect asks an HTTP proxy for a tunnel (RFC 9110 §9.3.6). The libraries for
// it take no context, or put no bound on the answer, or drop its status.
func (u *upstream) connect(ctx context.Context, conn net.Conn, addr string) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	status, phrase, err := u.askConnect(conn, addr)
	overdue := !stop() // the deadline is set, whatever was read before
	switch {
	case overdue: // it took the request, so most likely it waits itself, for the target
		return &ProxyError{Proxy: u.shown, Answered: true, Err: fmt.Errorf("asking it to CONNECT to %s: %w", addr, left(ctx))}
	case err != nil:
		return u.failed(fmt.Errorf("asking it to CONNECT to %s: %w", addr, err))
	case status/100 == 2:
		return nil
	case status == http.StatusProxyAuthRequired:
		return &ProxyError{Proxy: u.shown, Status: status, Err: u.credentialsWanted()}
	}
	err = fmt.Errorf("it answered CONNECT to %s with %d %s", addr, status, phrase)
	return &ProxyError{Proxy: u.shown, Status: status, Answered: true, Err: err}
}

// left is the error of who did not wait for the proxy's answer.
func left(ctx context.Context) error {
	return &net.OpError{Op: "read", Net: "tcp", Err: ctx.Err()}
}

func (u *upstream) askConnect(conn net.Conn, addr string) (status int, phrase string, err error) {
	req := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: addr},
		Host:   addr,
		Header: http.Header{"User-Agent": {""}}, // net/http would put its own
	}
	if u.via != "" {
		req.Header["Via"] = []string{"1.1 " + u.via}
	}
	if u.user != nil {
		password, _ := u.user.Password()
		req.Header["Proxy-Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(u.user.Username()+":"+password))}
	}
	if err := req.Write(conn); err != nil {
		return 0, "", err
	}
	return readConnectAnswer(conn, req)
}

// readConnectAnswer reads the answer to a CONNECT, and no octet behind it.
func readConnectAnswer(r io.Reader, req *http.Request) (status int, phrase string, err error) {
	limited := &io.LimitedReader{R: singly{r}, N: answerLimit}
	resp, err := http.ReadResponse(bufio.NewReader(limited), req) //nolint:bodyclose // it would read from the tunnel; the caller ends the connection
	switch {
	case err != nil && limited.N == 0:
		return 0, "", fmt.Errorf("its answer has more than %d octets of header", answerLimit)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return 0, "", fmt.Errorf("it closed the connection without an answer: %w", err)
	case err != nil:
		return 0, "", fmt.Errorf("its answer cannot be read: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 599 {
		return 0, "", fmt.Errorf("it answered with the status %03d, which is none that an answer to CONNECT has", resp.StatusCode)
	}
	_, phrase, _ = strings.Cut(resp.Status, " ")
	return resp.StatusCode, phrase[:min(len(phrase), phraseLimit)], nil
}

// singly reads one octet at a time, so that a buffer before it holds nothing
// that was not asked for: what follows an answer is the target's.
type singly struct{ r io.Reader }

// Read reads at most one octet.
func (s singly) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 1)]) }

func (u *upstream) credentialsWanted() error {
	if u.user == nil {
		return errors.New("it asks for credentials (407); write them in upstream.proxy, as in http://USER:PASSWORD@HOST:PORT")
	}
	return errors.New("it does not accept the credentials in upstream.proxy (407); heed sends them by the scheme Basic")
}

// socksRefusal is how golang.org/x/net begins the text of an error that is the
// proxy's reply (RFC 1928 §6). It has no type for it.
const socksRefusal = "unknown error "

// socks asks a SOCKS proxy for a tunnel, on a connection that was made before.
func (u *upstream) socks(ctx context.Context, conn net.Conn, addr string) error {
	var auth *proxy.Auth
	if u.user != nil {
		password, _ := u.user.Password()
		auth = &proxy.Auth{User: u.user.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", u.at.addr(), auth, nil)
	if err != nil {
		return u.failed(err)
	}
	// DialContext would return the connection in a type that cannot be closed
	// in one direction.
	with, ok := dialer.(interface {
		DialWithConn(ctx context.Context, c net.Conn, network, address string) (net.Addr, error)
	})
	if !ok {
		return u.failed(errors.New("golang.org/x/net/proxy has no DialWithConn any more"))
	}
	_, err = with.DialWithConn(ctx, conn, "tcp", addr)
	if err == nil {
		return nil
	}
	var op *net.OpError
	if ctx.Err() != nil {
		err = left(ctx)
	} else if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	if reply, ok := strings.CutPrefix(err.Error(), socksRefusal); ok {
		err = fmt.Errorf("asked for %s it answered: %s", addr, reply)
		return &ProxyError{Proxy: u.shown, Answered: true, Err: err}
	}
	return u.failed(fmt.Errorf("asking it for %s: %w", addr, err))
}
