package proxy

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"heed/internal/agent"
	"heed/internal/audit"
	"heed/internal/quota"
)

// TestTrailersDoNotSayWhoAsks: what was decided on, and what is configured, stands
// in the header section; no other name follows it behind the body.
func TestTrailersDoNotSayWhoAsks(t *testing.T) {
	for _, row := range []struct {
		why string
		set func(*Config)
	}{
		{"a client that is presented by another name", func(c *Config) { c.Clients = agent.NewClients([]agent.Known{local(newsClient())}) }},
		{"a client that was decided on without a name", func(*Config) {}},
	} {
		r := start(t, row.set)
		got := make(chan http.Header, 1)
		forAll(t, r, func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			got <- req.Trailer
		}, func(t *testing.T, c channel) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.origin+"/", io.MultiReader(strings.NewReader("body")))
			if err != nil {
				t.Fatal(err)
			}
			req.Trailer = http.Header{"User-Agent": {"python/3"}, "From": {"me@elsewhere.example"}, "X-Sum": {"42"}}
			resp, err := c.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if trailer := <-got; len(trailer) != 1 || trailer.Get("X-Sum") != "42" {
				t.Errorf("%s: the origin got the trailers %v", row.why, trailer)
			}
		})
	}
}

// TestTrailersThatWereNotDeclared come with the end of a body of which all was
// sent: one that says who asks is dropped, and one that cannot be sent takes
// nothing back.
func TestTrailersThatWereNotDeclared(t *testing.T) {
	const chunks = "5\r\nhello\r\n0\r\n"
	for _, row := range []struct {
		why, trailer string
		status       int
		reason       string
		sent         string // behind the last chunk
	}{
		{"who asks", "user-agent: python/3\r\n", 204, "allowed", "X-Sum: 42\r\n\r\n"},
		{"a field that is none of a trailer", "Authorization: Basic eDp5\r\n", 400, "bad-body", ""},
	} {
		body := make(chan string, 1)
		host, _ := script(t, func(c net.Conn) {
			b := make([]byte, len(chunks)+max(1, len(row.sent))) // where nothing follows the end of the connection is waited for
			n, _ := io.ReadFull(c, b)
			body <- string(b[:n])
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		})
		account, set := bounded(quota.Limits{quota.Minute: 10, quota.Day: 10})
		r := start(t, set)
		a := r.send(t, request("POST", "http://"+host+"/", "Transfer-Encoding: chunked", "Trailer: X-Sum")+chunks+"X-Sum: 42\r\n"+row.trailer+"\r\n")
		if a.StatusCode != row.status {
			t.Errorf("%s: %s: %s", row.why, a.Status, a.body)
		}
		if got, want := <-body, chunks+row.sent; got != want {
			t.Errorf("%s: the origin got %q, want %q", row.why, got, want)
		}
		if e := r.entry(t); e.Verdict != audit.Forwarded || e.Reason != row.reason {
			t.Errorf("%s: recorded as %v, %s: %s", row.why, e.Verdict, e.Reason, e.Err)
		}
		isLeft(t, account, quota.Day, 9)
		isLeft(t, account, quota.Minute, 9)
	}
}
