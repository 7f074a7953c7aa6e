package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts run heed as people do. Beside it they have:
//
//	fetch URL…      a client that reads the proxy variables and SSL_CERT_FILE
//	count-signals   prints each signal it gets until it has been quiet a while
//	origin ROBOTS   (a script command) starts an origin; $ORIGIN is its address
//	await FILE RE   (a script command) waits until the file matches
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"heed":          func() { os.Exit(Main(os.Args[1:])) },
		"fetch":         func() { os.Exit(fetchMain(os.Args[1:])) },
		"count-signals": func() { os.Exit(countSignals(os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "tmp"))
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			for _, dir := range []string{home, filepath.Join(e.WorkDir, "tmp")} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"origin": startOrigin,
			"await":  await,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// startOrigin starts an origin whose robots.txt is the file named, of the
// Content-Type named if there is one, and whose other pages say their path.
func startOrigin(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: origin ROBOTS [TYPE]")
	}
	robots := ts.ReadFile(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			if len(args) == 2 {
				w.Header().Set("Content-Type", args[1])
			}
			io.WriteString(w, robots)
			return
		}
		fmt.Fprintf(w, "page %s for %s\n", r.URL.Path, r.Host)
	}))
	ts.Defer(server.Close)
	ts.Setenv("ORIGIN", strings.TrimPrefix(server.URL, "http://"))
}

// await waits until a file matches a regular expression, and sets $MATCH to
// its first group.
func await(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: await FILE REGEXP")
	}
	want, path := regexp.MustCompile("(?m)"+args[1]), ts.MkAbs(args[0])
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			ts.Fatalf("%v", err)
		}
		if found := want.FindSubmatch(text); found != nil {
			if len(found) > 1 {
				ts.Setenv("MATCH", string(found[1]))
			}
			return
		}
	}
	text, _ := os.ReadFile(path)
	ts.Fatalf("%s does not match %s after 20 s:\n%s", args[0], args[1], text)
}

// fetchMain prints status and body of each URL.
func fetchMain(urls []string) int {
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	for _, url := range urls {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		r.Header.Set("User-Agent", "ExampleBot/1.0")
		response, err := client.Do(r)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(response.StatusCode)
		_, err = io.Copy(os.Stdout, response.Body)
		response.Body.Close()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// countSignals prints "ready", then each signal. It ends when it was quiet for
// a while, with the status 40 and their number. With the argument "alone" it
// leaves its process group first, so that it gets none of the terminal's.
func countSignals(args []string) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	patience := 20 * time.Second
	if len(args) > 0 && args[0] == "alone" {
		if err := syscall.Setpgid(0, 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		patience = time.Second
	}
	fmt.Println("ready")
	count, quiet := 0, time.NewTimer(patience)
	for {
		select {
		case s := <-signals:
			fmt.Println(s)
			count++
			quiet.Reset(300 * time.Millisecond)
		case <-quiet.C:
			return 40 + count
		}
	}
}
