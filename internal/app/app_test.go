package app

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/config"
)

const patience = 20 * time.Second

// settings is a configuration on free ports with a state directory of its own.
func settings(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.Listen, c.AdminListen, c.StateDir = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	return c
}

// begin starts an App and runs it; the returned function ends it and returns
// what Run did.
func begin(t *testing.T, c config.Config) (*App, func() error) {
	t.Helper()
	a, err := Start(t.Context(), c, Options{Log: zerolog.Nop(), Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- a.Run(ctx) }()
	t.Cleanup(cancel)
	return a, func() error {
		cancel()
		select {
		case err := <-ran:
			return err
		case <-time.After(patience):
			t.Fatal("Run did not end")
			return nil
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestHeedStartsServesAndEnds(t *testing.T) {
	a, end := begin(t, settings(t))
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if status, _ := get(t, "http://"+a.AdminAddr()+"/readyz"); status == 200 {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("heed did not become ready")
		}
	}
	if status, page := get(t, "http://"+a.ProxyAddr()+"/"); status != 200 || !strings.Contains(page, "1.2.3") {
		t.Errorf("the start page: %d %s", status, page)
	}
	if status, page := get(t, "http://"+a.AdminAddr()+"/metrics"); status != 200 || !strings.Contains(page, "heed_exchanges_total") {
		t.Errorf("the metrics: %d %.300s", status, page)
	}
	if err := end(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if c, err := net.Dial("tcp", a.ProxyAddr()); err == nil {
		_ = c.Close()
		t.Error("the listener outlived Run")
	}
}

// An exchange that is under way when heed is asked to end is finished, and an
// orchestrator is told meanwhile.
func TestExchangeUnderWayIsFinished(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		close(asked)
		<-answer
		_, _ = io.WriteString(w, "late")
	}))
	defer o.Close()
	c := settings(t)
	c.AllowAddress = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	a, end := begin(t, c)
	client, err := net.Dial("tcp", a.ProxyAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_ = client.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(client, "GET "+o.URL+"/slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-asked
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if status, why := get(t, "http://"+a.AdminAddr()+"/readyz"); status == 503 && strings.Contains(why, "shutting down") {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("readyz did not say that heed is shutting down")
		}
	}
	close(answer)
	resp, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "late" {
		t.Errorf("the answer: %q, %v", body, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestStartThatFailsLeavesNothingOpenAndNamesTheFault(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why   string
		set   func(*config.Config)
		names []string
	}{
		{"the port is taken", func(c *config.Config) { c.Listen = taken.Addr().String() }, []string{taken.Addr().String(), "(listen)", "choose another port"}},
		{"the second port is taken", func(c *config.Config) { c.Listen, c.AdminListen = free, taken.Addr().String() }, []string{taken.Addr().String(), "(admin_listen)"}},
		{"the state directory is a file", func(c *config.Config) { c.StateDir = file }, []string{file}},
		{"there is no state directory", func(c *config.Config) { c.StateDir = "" }, []string{"state_dir"}},
		{"the roots are not there", func(c *config.Config) { c.Upstream.Roots = file + ".pem" }, []string{"upstream.roots", file + ".pem"}},
		{"the roots are no certificates", func(c *config.Config) { c.Upstream.Roots = file }, []string{"upstream.roots", file, "no certificate"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := settings(t)
			row.set(&c)
			_, err := Start(t.Context(), c, Options{Log: zerolog.Nop()})
			if err == nil {
				t.Fatal("it started")
			}
			for _, name := range row.names {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%q does not name %q", err, name)
				}
			}
			if l, err := net.Listen("tcp", free); err != nil {
				t.Errorf("a listener was left open: %v", err)
			} else {
				_ = l.Close()
			}
		})
	}
}

// The operator's own listeners are refused also where loopback is open.
func TestHeedDoesNotConnectToItself(t *testing.T) {
	c := settings(t)
	c.AllowAddress = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	a, end := begin(t, c)
	for _, own := range []string{a.ProxyAddr(), a.AdminAddr()} {
		conn, err := net.Dial("tcp", a.ProxyAddr())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(conn, "GET http://"+own+"/metrics HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if status := resp.Header.Get("Proxy-Status"); resp.StatusCode != 403 || !strings.Contains(status, "destination_ip_prohibited") {
			t.Errorf("%s: %s, %s", own, resp.Status, status)
		}
		_ = conn.Close()
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
