package app

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/admin"
	"heed/internal/config"
	"heed/internal/store"
)

// counting is an origin that counts how often its robots.txt is asked for.
func counting(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	asked := new(atomic.Int64)
	o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			asked.Add(1)
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /private\n"))
		}
	}))
	t.Cleanup(o.Close)
	return o, asked
}

// askThrough asks an URL through a heed.
func askThrough(t *testing.T, a *App, target string) int {
	t.Helper()
	proxyURL := &url.URL{Scheme: "http", Host: a.ProxyAddr()}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{Proxy: http.ProxyURL(proxyURL), DisableKeepAlives: true}}
	resp, err := client.Get(target)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// cached is a configuration whose state directory has a short path, as a
// socket's must.
func cached(t *testing.T) config.Config {
	t.Helper()
	c := settings(t)
	dir, err := os.MkdirTemp("", "heed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c.StateDir = dir
	c.AllowAddress = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return c
}

func TestWhatWasFetchedIsNotFetchedAgainAfterARestart(t *testing.T) {
	o, asked := counting(t)
	c := cached(t)
	for range 2 {
		a, end := begin(t, c)
		if got := askThrough(t, a, o.URL+"/private"); got != http.StatusForbidden {
			t.Errorf("status %d, want 403", got)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("robots.txt was asked for %d times, want once", n)
	}
	if _, err := os.Stat(filepath.Join(c.StateDir, "robots.db")); err != nil {
		t.Error(err)
	}
}

func TestForgottenOriginIsAskedAgainByTheHeedThatRuns(t *testing.T) {
	o, asked := counting(t)
	c := cached(t)
	a, end := begin(t, c)
	askThrough(t, a, o.URL+"/")
	client, err := admin.Dial(t.Context(), Socket(c.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(Socket(c.StateDir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v, %v, want 0600", info.Mode(), err)
	}
	p, err := store.ParsePattern(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	var dropped []string
	for origin, err := range client.Forget(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		dropped = append(dropped, origin)
	}
	if len(dropped) != 1 || dropped[0] != o.URL {
		t.Errorf("dropped %v, want %s", dropped, o.URL)
	}
	askThrough(t, a, o.URL+"/")
	if n := asked.Load(); n != 2 {
		t.Errorf("robots.txt was asked for %d times, want twice: it was forgotten", n)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(Socket(c.StateDir)); !os.IsNotExist(err) {
		t.Errorf("the socket outlived heed: %v", err)
	}
}

func TestCacheFileThatIsOffIsNone(t *testing.T) {
	o, asked := counting(t)
	c := cached(t)
	c.Cache.File = config.Off
	for range 2 {
		a, end := begin(t, c)
		askThrough(t, a, o.URL+"/")
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := os.ReadDir(c.StateDir); err != nil || len(files) != 1 || asked.Load() != 2 {
		t.Errorf("%v, %v, asked %d times: want the CA alone, and to be asked twice", files, err, asked.Load())
	}
}

func TestSecondHeedOnACacheFileDoesNotStartUnlessItIsPrivate(t *testing.T) {
	c := cached(t)
	_, end := begin(t, c)
	_, err := Start(t.Context(), c, Options{Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), filepath.Join(c.StateDir, "robots.db")) {
		t.Errorf("%v does not name the file", err)
	}
	for range 2 { // the second has none
		a, err := Start(t.Context(), c, Options{Log: zerolog.Nop(), Private: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- a.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ran; err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(c.StateDir, "robots-run.db")); err != nil {
		t.Error(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestSocketThatCannotBeKeepsNobodyFromServing(t *testing.T) {
	dir := cached(t).StateDir
	taken, err := net.Listen("unix", filepath.Join(dir, "taken"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "stale"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	for _, row := range []struct{ path, says string }{
		{filepath.Join(dir, "new"), ""},
		{filepath.Join(dir, "stale"), ""},
		{filepath.Join(dir, "taken"), "another heed listens"},
		{filepath.Join(dir, "file"), "is not a socket"},
		{filepath.Join(dir, strings.Repeat("x", 120)), "name a shorter state directory"},
		{filepath.Join(dir, "absent", "s"), "no such file"},
	} {
		var log bytes.Buffer
		l := listenControl(t.Context(), row.path, zerolog.New(&log))
		if l != nil {
			_ = l.Close()
		}
		if (l != nil) != (row.says == "") || !strings.Contains(log.String(), row.says) {
			t.Errorf("%s: %v, %s", row.path, l, log.String())
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("a file was removed: %v", err)
	}
}

func TestReadyzSaysThatTheCacheFileCannotBeWritten(t *testing.T) {
	c := cached(t)
	c.Cache.File = filepath.Join(c.StateDir, "file", "robots.db")
	if err := os.WriteFile(filepath.Join(c.StateDir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, end := begin(t, c)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		status, says := get(t, "http://"+a.AdminAddr()+"/readyz")
		if status == 200 && strings.HasPrefix(says, "degraded: ") && strings.Contains(says, c.Cache.File[:len(c.Cache.File)-len("/robots.db")]) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d %s", status, says)
		}
	}
	if _, page := get(t, "http://"+a.AdminAddr()+"/metrics"); !strings.Contains(page, "\nheed_cache_degraded 1\n") {
		t.Errorf("the metrics do not say it")
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
