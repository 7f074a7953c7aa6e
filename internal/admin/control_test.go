package admin

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heed/internal/pace"
	"heed/internal/store"
)

// kept is a Cache of a few origins, which notes what it is asked.
type kept struct {
	origins []string
	asked   []string
	fault   error // after the origins
}

func (k *kept) List(_ context.Context, p store.Pattern, bodies bool) iter.Seq2[store.Entry, error] {
	k.asked = append(k.asked, "list "+p.String())
	return func(yield func(store.Entry, error) bool) {
		for _, o := range k.origins {
			e := store.Entry{Origin: o, Access: "successful", Error: "\x1b[31m"}
			if bodies {
				e.Body = []byte("body\x00\xff")
			}
			if !yield(e, nil) {
				return
			}
		}
		if k.fault != nil {
			yield(store.Entry{}, k.fault)
		}
	}
}

func (k *kept) Forget(_ context.Context, p store.Pattern) iter.Seq2[string, error] {
	k.asked = append(k.asked, "forget "+p.String())
	return func(yield func(string, error) bool) {
		for _, o := range k.origins {
			if !yield(o, nil) {
				return
			}
		}
		if k.fault != nil {
			yield("", k.fault)
		}
	}
}

func (k *kept) Stats(context.Context) (store.Stats, error) {
	return store.Stats{Records: len(k.origins), Running: &store.Counts{Saved: 7}}, k.fault
}

// shortDir is a folder of the test's own: the path of t.TempDir may be too long
// for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "heed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// control serves a cache on a socket and returns a client of it.
func control(t *testing.T, c Cache) *Client {
	t.Helper()
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: NewControl(c, pace.New(pace.Config{}))}}
	server.Start()
	t.Cleanup(server.Close)
	client, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClientSeesWhatTheCacheHas(t *testing.T) {
	k := &kept{origins: []string{"https://a.example", "https://b.example"}}
	c := control(t, k)
	p, err := store.ParsePattern("*.example:8080")
	if err != nil {
		t.Fatal(err)
	}
	for _, bodies := range []bool{false, true} {
		var got []string
		for e, err := range c.List(t.Context(), p, bodies) {
			if err != nil || e.Access != "successful" || e.Error != "\x1b[31m" || (string(e.Body) == "body\x00\xff") != bodies {
				t.Errorf("%+v, %v", e, err)
			}
			got = append(got, e.Origin)
		}
		if !slices.Equal(got, k.origins) {
			t.Errorf("%v, want %v", got, k.origins)
		}
	}
	var dropped []string
	for o, err := range c.Forget(t.Context(), p) {
		if err != nil {
			t.Error(err)
		}
		dropped = append(dropped, o)
	}
	if !slices.Equal(dropped, k.origins) {
		t.Errorf("%v dropped, want %v", dropped, k.origins)
	}
	if want := []string{"list *.example:8080", "list *.example:8080", "forget *.example:8080"}; !slices.Equal(k.asked, want) {
		t.Errorf("asked %v, want %v", k.asked, want)
	}
	if s, err := c.Stats(t.Context()); err != nil || s.Records != 2 || s.Running == nil || s.Running.Saved != 7 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAnswerThatIsNotWholeIsAnError(t *testing.T) {
	c := control(t, &kept{origins: []string{"https://a.example"}, fault: errors.New("the disk is gone")})
	var faults []error
	for _, err := range c.List(t.Context(), store.Pattern{}, false) {
		faults = append(faults, err)
	}
	if len(faults) != 2 || faults[0] != nil || faults[1] == nil || !strings.Contains(faults[1].Error(), "the disk is gone") {
		t.Errorf("%v: want an origin, then the fault", faults)
	}
	if _, err := c.Stats(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("%v", err)
	}
}

// An answer that ends early for another reason: the heed that gave it ended.
func TestAnswerWithoutItsEndIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"dropped":"https://a.example"}` + "\n"))
	}))
	defer server.Close()
	c := &Client{base: "http://heed", http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	}}}
	var last error
	for _, err := range c.Forget(t.Context(), store.Pattern{}) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "unexpected EOF") {
		t.Errorf("%v: the answer was not whole", last)
	}
}

func TestControlTakesWhatItKnowsAlone(t *testing.T) {
	k := &kept{}
	h := NewControl(k, pace.New(pace.Config{}))
	for _, row := range []struct {
		method, path string
		status       int
		why          string
	}{
		{"GET", "/cache?pattern=*", 200, ""},
		{"GET", "/cache", 400, "no pattern: nothing is taken for all"},
		{"DELETE", "/cache", 400, "above all not here"},
		{"DELETE", "/cache?pattern=ftp://x", 400, "not a pattern"},
		{"POST", "/cache?pattern=*", 405, "not a method"},
		{"GET", "/nothing", 404, "not a path"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(row.method, row.path, nil))
		if w.Code != row.status {
			t.Errorf("%s %s: %d, want %d: %s", row.method, row.path, w.Code, row.status, row.why)
		}
	}
	if len(k.asked) != 1 {
		t.Errorf("asked %v, want one list", k.asked)
	}
}

func TestDialSaysThatNobodyListens(t *testing.T) {
	dir := shortDir(t)
	gone := filepath.Join(dir, "gone")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: gone, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	for path, why := range map[string]string{
		filepath.Join(dir, "absent"): "no file",
		gone:                         "nobody listens any more",
		filepath.Join(dir, strings.Repeat("long/", 40)): "no socket can have this path",
	} {
		if _, err := Dial(t.Context(), path); !errors.Is(err, ErrNoneRuns) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if err := CheckSocketPath("/" + strings.Repeat("x", longestSocket)); err == nil || !strings.Contains(err.Error(), "state_dir") {
		t.Errorf("%v does not say what to do", err)
	}
	if err := CheckSocketPath(strings.Repeat("x", longestSocket)); err != nil {
		t.Error(err)
	}
}
