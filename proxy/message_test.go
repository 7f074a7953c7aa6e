package proxy

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestBodiesArriveByteForByte: with a length and in chunks, there and back.
func TestBodiesArriveByteForByte(t *testing.T) {
	r := start(t)
	sent := make([]byte, 1<<20+7)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(sent)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("the origin could not read the body: %v", err)
		}
		if req.URL.Path == "/length" {
			w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		}
		w.Header().Set("X-Length", strconv.FormatInt(req.ContentLength, 10))
		_, _ = w.Write(b)
	}, func(t *testing.T, c channel) {
		for _, tt := range []struct {
			target string
			body   io.Reader
			length string
		}{
			{"/length", bytes.NewReader(sent), strconv.Itoa(len(sent))},
			{"/chunks", io.MultiReader(bytes.NewReader(sent)), "-1"}, // a reader of unknown length
			{"/empty", http.NoBody, "0"},
		} {
			resp := c.do(t, "POST", tt.target, tt.body)
			got := whole(t, resp)
			want := string(sent)
			if tt.target == "/empty" {
				want = ""
			}
			if sha256.Sum256([]byte(got)) != sha256.Sum256([]byte(want)) {
				t.Errorf("%s: %d octets came back, not those that were sent", tt.target, len(got))
			}
			if got := resp.Header.Get("X-Length"); got != tt.length {
				t.Errorf("%s: the origin was told of %s octets, want %s", tt.target, got, tt.length)
			}
			if e := r.entryOf(t, c.as); e.BytesIn != int64(len(want)) || e.BytesOut != int64(len(want)) {
				t.Errorf("%s: recorded %d octets in and %d out", tt.target, e.BytesIn, e.BytesOut)
			}
		}
	})
}

// TestFieldsArriveAsTheyAre: repeated ones in their order, odd ones untouched,
// and none that was not sent.
func TestFieldsArriveAsTheyAre(t *testing.T) {
	r := start(t)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h["Set-Cookie"] = []string{"a=1", "b=2"}
		h["X-Empty"] = []string{""}
		h["Date"], h["Content-Type"] = nil, nil
		h["Proxy-Status"] = []string{"other; error=x"}
		if want := []string{"1", "2, 3", "1"}; !slices.Equal(req.Header["X-Twice"], want) {
			t.Errorf("the origin got X-Twice: %q, want %q", req.Header["X-Twice"], want)
		}
		for name, want := range map[string]string{"Cookie": "sid=1", "Authorization": "Bearer t", "Range": "bytes=0-1", "If-None-Match": `"x"`, "Cache-Control": "no-transform"} {
			if got := req.Header.Get(name); got != want {
				t.Errorf("the origin got %s: %q, want %q", name, got, want)
			}
		}
		for _, name := range []string{"User-Agent", "Accept-Encoding", "Accept", "X-Forwarded-For", "Forwarded"} {
			if v, there := req.Header[name]; there {
				t.Errorf("the origin got %s: %q, which the client did not send", name, v)
			}
		}
		_, _ = io.WriteString(w, "<html>")
	}, func(t *testing.T, c channel) {
		resp := c.do(t, "GET", "/", nil, "X-Twice: 1", "X-Twice: 2, 3", "X-Twice: 1", "Cookie: sid=1", "Authorization: Bearer t",
			"Range: bytes=0-1", `If-None-Match: "x"`, "Cache-Control: no-transform")
		whole(t, resp)
		if want := []string{"a=1", "b=2"}; !slices.Equal(resp.Header["Set-Cookie"], want) {
			t.Errorf("Set-Cookie: %q, want %q", resp.Header["Set-Cookie"], want)
		}
		if got := resp.Header["X-Empty"]; !slices.Equal(got, []string{""}) {
			t.Errorf("X-Empty: %q", got)
		}
		for _, name := range []string{"Date", "Content-Type", "Server"} {
			if v, there := resp.Header[name]; there {
				t.Errorf("%s: %q came with an answer that had none", name, v)
			}
		}
	})
}

// TestUserAgentAndCodingsAreTheClients: goproxy puts Go's own name in place of
// a missing one and decodes gzip (proxy.go:117).
func TestUserAgentAndCodingsAreTheClients(t *testing.T) {
	r := start(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, strings.Repeat("text ", 1000))
	_ = z.Close()
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Seen", fmt.Sprintf("%q %q", req.Header["User-Agent"], req.Header["Accept-Encoding"]))
		_, _ = w.Write(zipped.Bytes())
	}, func(t *testing.T, c channel) {
		for _, tt := range []struct {
			fields []string
			seen   string
		}{
			{nil, `[] []`},
			{[]string{"User-Agent: ExampleBot/1.0 (+https://a.example)", "Accept-Encoding: br;q=0.5, gzip"}, `["ExampleBot/1.0 (+https://a.example)"] ["br;q=0.5, gzip"]`},
		} {
			resp := c.do(t, "GET", "/", nil, tt.fields...)
			if got := whole(t, resp); got != zipped.String() || resp.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%d octets came, coded %q, not the %d that the origin sent", len(got), resp.Header.Get("Content-Encoding"), zipped.Len())
			}
			if got := resp.Header.Get("X-Seen"); got != tt.seen {
				t.Errorf("the origin saw %s, want %s", got, tt.seen)
			}
		}
	})
}

// TestAnswersWithoutBody: HEAD, 204 and 304 keep their fields and have no body.
func TestAnswersWithoutBody(t *testing.T) {
	r := start(t)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h.Set("ETag", `"x"`)
		switch req.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.WriteHeader(304)
		case "/unknown": // a HEAD whose length the origin does not tell
			w.(http.Flusher).Flush()
		default:
			h.Set("Content-Length", "12345")
			h.Set("Content-Type", "text/x")
		}
	}, func(t *testing.T, c channel) {
		for _, tt := range []struct {
			method, target string
			status         int
			length         string
		}{
			{"HEAD", "/page", 200, "12345"},
			{"HEAD", "/unknown", 200, ""},
			{"GET", "/204", 204, ""},
			{"GET", "/304", 304, ""},
		} {
			resp := c.do(t, tt.method, tt.target, nil)
			if body := whole(t, resp); resp.StatusCode != tt.status || body != "" || resp.Header.Get("Content-Length") != tt.length || resp.Header.Get("ETag") != `"x"` {
				t.Errorf("%s %s: %s, %v, body %q", tt.method, tt.target, resp.Status, resp.Header, body)
			}
		}
	})
}

// TestTrailersArrive: announced or not, in both directions.
func TestTrailersArrive(t *testing.T) {
	r := start(t)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Trailer", "X-Sum, X-Sent")
		_, _ = io.Copy(w, req.Body)
		w.Header().Set("X-Sum", "42")
		w.Header().Set("X-Sent", req.Trailer.Get("X-Client"))
		w.Header().Set(http.TrailerPrefix+"X-Late", "late")
	}, func(t *testing.T, c channel) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", c.origin+"/", io.MultiReader(strings.NewReader("body")))
		if err != nil {
			t.Fatal(err)
		}
		req.Trailer = http.Header{"X-Client": {"of the client"}}
		req.Header.Set("Te", "trailers")
		resp, err := c.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body := whole(t, resp); body != "body" {
			t.Errorf("the body is %q", body)
		}
		for name, want := range map[string]string{"X-Sum": "42", "X-Sent": "of the client", "X-Late": "late"} {
			if got := resp.Trailer.Get(name); got != want {
				t.Errorf("the trailer %s is %q, want %q", name, got, want)
			}
		}
	})
}

// TestStatusesAndMethodsPass: what is not heed's business goes through, known
// or not.
func TestStatusesAndMethodsPass(t *testing.T) {
	r := start(t)
	forAll(t, r, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Method", req.Method)
		status, _ := strconv.Atoi(req.URL.Path[1:])
		if status == 206 {
			w.Header().Set("Content-Range", "bytes 0-1/10")
		}
		w.WriteHeader(status)
	}, func(t *testing.T, c channel) {
		for _, status := range []int{200, 206, 299, 301, 401, 407, 418, 429, 451, 500, 503, 599, 999} {
			resp := c.do(t, "GET", "/"+strconv.Itoa(status), nil)
			if whole(t, resp); resp.StatusCode != status || resp.Header.Get("Proxy-Status") != "" {
				t.Errorf("%d: %s, Proxy-Status: %q", status, resp.Status, resp.Header.Get("Proxy-Status"))
			}
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE", "get", "M-SEARCH"} {
			resp := c.do(t, method, "/200", nil)
			if whole(t, resp); resp.Header.Get("X-Method") != method {
				t.Errorf("%s arrived as %q: %s", method, resp.Header.Get("X-Method"), resp.Status)
			}
		}
	})
}
