package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"heed/internal/pace"
	"heed/internal/store"
)

// Client is the Cache of a heed that runs, and knows its pace. Make one with Dial,
// or with At for what the listener on loopback tells. It is safe for concurrent
// use.
type Client struct {
	http *http.Client
	base string // of URLs
}

var _ Cache = (*Client)(nil)

// ErrNoneRuns is what Dial fails with where no heed listens.
var ErrNoneRuns = errors.New("no heed runs there")

// Dial returns a client of the heed that listens on a socket, see NewControl.
func Dial(ctx context.Context, socket string) (*Client, error) {
	if CheckSocketPath(socket) != nil {
		return nil, ErrNoneRuns // none can
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "unix", socket)
	}
	conn, err := dial(ctx)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
		return nil, ErrNoneRuns
	}
	if err != nil {
		return nil, fmt.Errorf("asking the heed that runs: %w", err)
	}
	_ = conn.Close() // it was only a look
	return &Client{base: "http://heed", http: &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}}}, nil
}

// At returns a client of the heed whose New listens on an address: of it, Pace
// alone can be asked.
func At(addr string) *Client {
	return &Client{base: "http://" + addr, http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		Proxy:             nil, // not through the proxy of the environment, which may be heed itself
		DisableKeepAlives: true,
	}}}
}

// longestSocket is how long the path of a socket may be on every system that
// heed runs on: Linux takes 107 octets, macOS 103.
const longestSocket = 103

// CheckSocketPath says whether a socket can have a path.
func CheckSocketPath(path string) error {
	if len(path) > longestSocket {
		return fmt.Errorf("the path %s has %d octets, and a socket's may have %d; name a shorter state directory (state_dir)", path, len(path), longestSocket)
	}
	return nil
}

// List is Cache's.
func (c *Client) List(ctx context.Context, p store.Pattern, bodies bool) iter.Seq2[store.Entry, error] {
	query := url.Values{"pattern": {p.String()}}
	if bodies {
		query.Set("bodies", "true")
	}
	return lines(ctx, c, http.MethodGet, query, func(l line) store.Entry { return *l.Entry }, func(l line) bool { return l.Entry != nil })
}

// Forget is Cache's.
func (c *Client) Forget(ctx context.Context, p store.Pattern) iter.Seq2[string, error] {
	query := url.Values{"pattern": {p.String()}}
	return lines(ctx, c, http.MethodDelete, query, func(l line) string { return l.Dropped }, func(l line) bool { return l.Dropped != "" })
}

// Stats is Cache's.
func (c *Client) Stats(ctx context.Context) (s store.Stats, err error) {
	body, err := c.ask(ctx, http.MethodGet, pathStats)
	if err != nil {
		return s, err
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(body).Decode(&s); err != nil {
		return s, fmt.Errorf("reading the answer of the heed that runs: %w", err)
	}
	return s, nil
}

// Pace tells of at most limit hosts, or of one, if host is not empty.
func (c *Client) Pace(ctx context.Context, host string, limit int) (s pace.State, err error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if host != "" {
		query = url.Values{"host": {host}}
	}
	body, err := c.ask(ctx, http.MethodGet, pathPace+"?"+query.Encode())
	if err != nil {
		return s, err
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(body).Decode(&s); err != nil {
		return s, fmt.Errorf("reading the answer of the heed that runs: %w", err)
	}
	return s, nil
}

// ask returns the body of a 200.
func (c *Client) ask(ctx context.Context, method, target string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+target, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking the heed that runs: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	why, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // what of it came is shown
	return nil, fmt.Errorf("the heed that runs answers %s: %s", resp.Status, strings.TrimSpace(string(why)))
}

// lines yields what the lines of an answer say, and an error unless the last
// says that it is whole.
func lines[T any](ctx context.Context, c *Client, method string, query url.Values, what func(line) T, has func(line) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		body, err := c.ask(ctx, method, pathCache+"?"+query.Encode())
		if err != nil {
			yield(none, err)
			return
		}
		defer func() { _ = body.Close() }()
		for in := json.NewDecoder(body); ; {
			var l line
			err := in.Decode(&l)
			switch {
			case err != nil:
				err = fmt.Errorf("reading the answer of the heed that runs: %w", noEOF(err))
			case l.End:
				return
			case l.Fault != "":
				err = fmt.Errorf("the heed that runs says: %s", l.Fault)
			case !has(l):
				continue // a later heed's
			}
			if err != nil {
				yield(none, err)
				return
			}
			if !yield(what(l), nil) {
				return
			}
		}
	}
}

// noEOF says of an answer without an end that it has none.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
