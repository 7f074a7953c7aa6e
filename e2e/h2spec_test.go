package e2e

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// h2specExceptions are the cases of h2spec in which heed's side of HTTP/2, which is
// net/http's, does another thing than it expects, and why that is left so. One that
// passes all the same fails the test: then it has to go.
var h2specExceptions = map[string]string{
	"Sends a large size HEADERS frame that exceeds the SETTINGS_MAX_FRAME_SIZE": "it does not: its 20,000 octets are less than the 1 MiB that is allowed",
	"Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE": "net/http ends a connection that sets a parameter twice in one frame, where RFC 9113 §6.5.3 " +
		"would have it take the last: nobody but a test does so",
	"Sends a HEADERS frame that contains the connection-specific header field":                       "it is answered 400 in place of a reset: a malformed request may be answered (RFC 9113 §8.1.1)",
	"Sends a HEADERS frame that contains the TE header field with any value other than \"trailers\"": "it is answered 400 in place of a reset, as above",
}

// TestHTTP2IsAsH2specExpects asks heed for pages in HTTP/2 as h2spec does, which
// breaks one rule of RFC 9113 in each case: through CONNECT, and inside TLS.
func TestHTTP2IsAsH2specExpects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "h2spec")
	build := exec.Command("go", "build", "-modfile=../tools/go.mod", "-o", program, "github.com/summerwind/h2spec/cmd/h2spec")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building h2spec: %v\n%s", err, out)
	}
	o := newOrigin(t, nil, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "hello") // the asker may be gone
		},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// h2spec knows no proxies, and calls its server what it connects to. So what it
	// connects to is a door of heed's, to an origin of that name.
	_, port, _ := net.SplitHostPort(l.Addr().String())
	door := "localhost:" + port // a name, of which the origin has a certificate
	config := writeConfig(t, "upstream:\n  roots: "+o.rootFile+"\npace: {per_origin: 0, per_address: 0}\n")
	h := startHeed(t, nil, "--config", config, "--connect-to", door+":"+o.httpsAddr, "--allow-address", "127.0.0.0/8")
	serveDoor(t, l, h.Proxy, door)
	report := filepath.Join(dir, "report.xml")
	out := execute(t, 5*time.Minute, cleanEnv(dir), program, "-h", "localhost", "-p", port, "-t", "-k", "-o", "5", "-j", report)
	octets, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.stdout, out.stderr)
	}
	if len(o.requests("/")) < 50 {
		t.Errorf("%d requests reached the origin: it is not heed's forwarding that was tried", len(o.requests("/")))
	}
	if checkH2spec(t, octets); t.Failed() {
		t.Logf("%s", tailOf(out.stdout))
	}
}

// checkH2spec compares a report with the exceptions.
func checkH2spec(t *testing.T, octets []byte) {
	t.Helper()
	var report struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Package string    `xml:"package,attr"`
				Name    string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(octets, &report); err != nil {
		t.Fatalf("reading the report: %v", err)
	}
	cases, excepted := 0, 0
	for _, suite := range report.Suites {
		for _, c := range suite.Cases {
			cases++
			why, is := h2specExceptions[c.Name]
			failed := c.Failure != nil || c.Error != nil
			switch {
			case is && failed:
				excepted++
			case is:
				t.Errorf("%s: %q passes: it is no exception any more (%s)", c.Package, c.Name, why)
			case failed:
				t.Errorf("%s: %q fails", c.Package, c.Name)
			}
		}
	}
	t.Logf("%d cases, %d of them exceptions", cases, excepted)
	if cases < 140 || excepted != len(h2specExceptions) {
		t.Errorf("%d cases were run, %d of %d exceptions among them", cases, excepted, len(h2specExceptions))
	}
}

// serveDoor takes connections through a tunnel of heed's to where they went.
func serveDoor(t *testing.T, l net.Listener, proxy, to string) {
	t.Helper()
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			all.Go(func() { passDoor(client, proxy, to) })
		}
	})
}

func passDoor(client net.Conn, proxy, to string) {
	defer client.Close()
	tunnel, err := net.Dial("tcp", proxy)
	if err != nil {
		return // h2spec says what it misses
	}
	defer tunnel.Close()
	_, _ = fmt.Fprintf(tunnel, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	r := bufio.NewReader(tunnel)
	for line := ""; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil || strings.HasPrefix(line, "HTTP/") && !strings.Contains(line, " 200 ") {
			return
		}
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(tunnel, client); _ = tunnel.(*net.TCPConn).CloseWrite() })
	both.Go(func() { _, _ = io.Copy(client, r); _ = client.Close() })
	both.Wait()
}
