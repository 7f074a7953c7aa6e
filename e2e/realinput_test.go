package e2e

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// realFile is one line of real-dev.jsonl.gz: a robots.txt as a site sent it,
// with queries and their verdicts.
type realFile struct {
	ID     string      `json:"id"`
	Robots []byte      `json:"robots_b64"`
	Q      []realQuery `json:"q"`
	host   string      // the made name by which the local origin serves it
}

// realQuery is [agent, url, allowed, line, tag, heed, heed_line].
type realQuery struct {
	agent, url, tag string
	heed            bool
	heedLine        int
}

func (q *realQuery) UnmarshalJSON(b []byte) error {
	var allowed, line, verdict int
	err := json.Unmarshal(b, &[]any{&q.agent, &q.url, &allowed, &line, &q.tag, &verdict, &q.heedLine})
	q.heed = verdict == 1
	return err
}

// TestRealInput serves every robots.txt of the conformance data from a local
// origin, each under its own host name, and puts every query to heed on the
// wire, octet by octet. Each answer must be the data's verdict, or a denial
// that shows the normalised form of the path that met a rule.
func TestRealInput(t *testing.T) {
	files := readReal(t)
	byHost := make(map[string][]byte, len(files))
	for _, f := range files {
		byHost[f.host] = f.Robots
	}
	addr := serveOrigin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.RequestURI == "/robots.txt" {
			_, _ = w.Write(byHost[r.Host]) // heed reads as much as it wants
			return
		}
		// What was asked is what is answered. A target that begins with two
		// slashes comes in absolute form, which RFC 9112 §3.2.2 has us accept.
		_, _ = w.Write([]byte(r.Host + strings.TrimPrefix(r.RequestURI, "http://"+r.Host)))
	}), nil)
	// Without waiting: a tenth of the files asks for a pace.
	h := startHeed(t, nil, "--connect-to", ":80:"+addr, "--allow-address", "127.0.0.0/8", "--hold", "0s")

	began := time.Now()
	work := make(chan *realFile)
	var wg sync.WaitGroup
	var sum tally
	for range 8 {
		wg.Go(func() {
			c := &rawConn{addr: h.Proxy}
			defer c.drop()
			for f := range work {
				for _, q := range f.Q {
					sum.add(ask(c, f, q))
				}
			}
		})
	}
	for i := range files {
		work <- &files[i]
	}
	close(work)
	wg.Wait()

	for _, line := range sum.lines() {
		fmt.Println(line)
	}
	fmt.Printf("real input: %d files, %d queries in %v\n", len(files), sum.n, time.Since(began).Round(100*time.Millisecond))
	for _, fault := range sum.faults[:min(len(sum.faults), 10)] {
		t.Error(fault)
	}
	if n := len(sum.faults); n > 10 {
		t.Errorf("and %d more", n-10)
	}
}

// What a query can come to.
const (
	agrees   = "answered with the data's verdict"
	stricter = "denied for a normalised form of the path, which the answer shows"
	tooEarly = "allowed as the data has it, and answered 429: it is too early"
	noSpace  = "not sent: a raw space or control octet would end the request-target"
	notURI   = "answered 400: a percent sign without two hex digits is no URI"
)

// ask puts one query on the wire and says what it came to; fault is not ""
// when that is not right.
func ask(c *rawConn, f *realFile, q realQuery) (kind, fault string) {
	target := pathOf(q.url)
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return noSpace, ""
	}
	request := "GET http://" + f.host + target + " HTTP/1.1\r\nHost: " + f.host + "\r\n"
	if q.agent != "*" {
		request += "User-Agent: " + q.agent + "\r\n"
	}
	a, err := c.exchange("GET", []byte(request+"\r\n"))
	what := fmt.Sprintf("%s %s as %s (%s, heed %v, line %d)", f.ID, target, q.agent, q.tag, q.heed, q.heedLine)
	if err != nil {
		return "no answer", what + ": " + err.Error()
	}
	return judge(f, q, target, a, what)
}

func judge(f *realFile, q realQuery, target string, a rawAnswer, what string) (kind, fault string) {
	decision := a.fields.Get("Robots-Decision")
	what += fmt.Sprintf(": %s, Robots-Decision: %s", a.reason, decision)
	switch {
	case badEscape.MatchString(target):
		if a.status != 400 {
			return "wrong", what + ", want 400"
		}
		return notURI, ""
	case a.status == 200 && !q.heed:
		return "wrong", what + ": forwarded what the data disallows"
	case a.status == 200 && target == "/robots.txt":
		if string(a.body) != string(f.Robots) {
			return "wrong", what + ": the robots.txt is not the origin's"
		}
		return agrees, ""
	case a.status == 200:
		if got := string(a.body); got != f.host+target {
			return "wrong", what + fmt.Sprintf(": the origin was asked for %q", got)
		}
		return agrees, ""
	case a.status == 429 && strings.HasPrefix(decision, "paced;"): // what is denied has no turn
		if !q.heed {
			return "wrong", what + ": allowed what the data disallows"
		}
		return tooEarly, ""
	case a.status == 403 && q.heed:
		if !strings.Contains(decision, "; form=") && !strings.Contains(decision, ";form=") {
			return "wrong", what + ": denied what the data allows, and no form is shown"
		}
		return stricter, ""
	case a.status == 403:
		m := lineParameter.FindStringSubmatch(decision)
		if m == nil || m[1] != fmt.Sprint(q.heedLine) {
			return "wrong", what + ": denied by another line"
		}
		return agrees, ""
	}
	return "wrong", what + fmt.Sprintf(": %.200q", a.body)
}

var (
	badEscape     = regexp.MustCompile(`%(?:[^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`)
	lineParameter = regexp.MustCompile(`; ?line=(\d+)`)
)

// pathOf is what stands in a URL behind its authority, without the fragment,
// which no client sends.
func pathOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	target := ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		target = rest[i:]
	}
	target, _, _ = strings.Cut(target, "#")
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return target
}

// tally counts what the queries came to; it is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	n      int
	kinds  map[string]int
	faults []string
}

func (s *tally) add(kind, fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[string]int{}
	}
	s.n++
	s.kinds[kind]++
	if fault != "" {
		s.faults = append(s.faults, fault)
	}
}

func (s *tally) lines() []string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(s.kinds)) {
		all = append(all, fmt.Sprintf("real input: %7d %s", s.kinds[kind], kind))
	}
	return all
}

// readReal reads the data, which lies beside the checkout and is not part of it.
func readReal(t *testing.T) []realFile {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "conformance", "real-dev.jsonl.gz")
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if inCI() {
			t.Fatalf("%s is absent: with CI=true the real robots.txt files must be there", path)
		}
		t.Skipf("%s is absent: the real robots.txt files lie beside the checkout, not in it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var files []realFile
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		f := realFile{host: fmt.Sprintf("r%04d.real.test", len(files))}
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatalf("%s, line %d: %v", path, len(files)+1, err)
		}
		files = append(files, f)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("%s holds no file", path)
	}
	return files
}
