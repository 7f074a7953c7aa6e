package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// password has what must be percent-encoded in a URL; escaped is so.
	password = "s3c:r@t/%"
	escaped  = "s3c%3Ar%40t%2F%25"
	// passwordHash is htpasswd's of it, at the least cost.
	passwordHash = "$2y$04$WRGoUmxzTQiwEGsIJ67BGeLIJjAUfcPJTNKNAPNNKUMm4fCJNJi5e"

	newsAgent = "NewsBot/1.0 (+https://news.example/bot)"
)

// credentialsOf says how the user of a client gives it credentials for its proxy:
// in the URL, or by flags; false where there is no way from outside.
func credentialsOf(c client, s *settings, password, escaped string) (flags []string, ok bool) {
	switch c.name {
	case "Java HttpClient", "Java URLConnection", "Chromium":
		return nil, false
	case "wget2":
		return []string{"--http-proxy-user=news", "--http-proxy-password=" + password}, true
	}
	s.url = fmt.Sprintf("http://news:%s@%s:%s", escaped, s.host, s.port)
	return nil, true
}

// TestRealClientsHaveANameByCredentials: each unmodified client, given a name and
// a password, is asked for them if it wants to be, goes by the token of its name,
// and is sent on as what the configuration calls it. With a wrong password
// nothing of it reaches the origin.
func TestRealClientsHaveANameByCredentials(t *testing.T) {
	o := newOrigin(t, map[string]string{openHost: "User-agent: *\nDisallow: /\n\nUser-agent: NewsBot\n" + rule + "\n"}, map[string]http.HandlerFunc{
		textPath: func(w http.ResponseWriter, r *http.Request) {
			if sent, there := r.Header["Proxy-Authorization"]; there {
				t.Errorf("the origin got Proxy-Authorization: %q", sent)
			}
			_, _ = io.WriteString(w, pageText)
		},
	})
	config := writeConfig(t, "upstream:\n  roots: "+o.rootFile+`
clients:
  named:
    - name: news
      password: `+passwordHash+`
      token: NewsBot
      user_agent: `+newsAgent+`
      purpose: an archive
identity: {require: named}
`)
	h := startHeed(t, nil, append([]string{"--config", config}, o.connectTo()...)...)
	byHand := settingsOf(t, h)
	t.Run("clients", func(t *testing.T) {
		for _, c := range clients {
			s := byHand
			if _, ok := credentialsOf(c, &s, "", ""); !ok {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				tryCredentials(t, c, byHand)
			})
		}
	})
	asked := o.requests("/public/")
	if len(asked) == 0 {
		t.Error("the origin's log holds no request: it is no witness")
	}
	for _, r := range asked {
		if r.agent != newsAgent || strings.Contains(r.target, "wrong") {
			t.Errorf("the origin got %+v", r)
		}
	}
	checkNamed(t, h)
}

// tryCredentials fetches a page with the right password and with a wrong one.
func tryCredentials(t *testing.T, c client, byHand settings) {
	t.Helper()
	program := programOf(t, c)
	for _, row := range []struct{ password, escaped, query string }{{password, escaped, "right"}, {"wrong", "wrong", "wrong"}} {
		for _, scheme := range []string{"http", "https"} {
			s := byHand
			flags, _ := credentialsOf(c, &s, row.password, row.escaped)
			url := scheme + "://" + openHost + textPath + "?" + row.query
			out := execute(t, 2*time.Minute, cleanEnv(t.TempDir(), c.byHand(s)...), slices.Concat(program, flags, c.argv(url))...)
			got, err := c.read(url, out.stdout)
			fetched := bytes.Contains(out.stdout, []byte(pageText)) || err == nil && len(got) == 1 && bytes.Contains(got[0].body, []byte(pageText)) // wget2 prints both answers
			switch {
			case row.query == "right" && !fetched:
				t.Errorf("%s: status %d, %+v, %v\n%.2000s\n%.2000s", url, out.status, got, err, out.stdout, out.stderr)
			case row.query == "wrong" && fetched:
				t.Errorf("%s: fetched with a wrong password", url)
			case row.query == "wrong" && !strings.Contains(string(out.stdout)+string(out.stderr), "407") && c.tunnel&seesNumber != 0 && scheme == "http":
				t.Errorf("%s: 407 is not shown\n%.2000s\n%.2000s", url, out.stdout, out.stderr)
			}
		}
	}
}

// checkNamed looks at the log: whoever was forwarded has a name, whoever has none
// was asked for credentials, and no password is in it.
func checkNamed(t *testing.T, h *heed) {
	t.Helper()
	var named int
	for line := range strings.Lines(h.Log.String()) {
		var e struct {
			Message, Verdict, Reason, Purpose string
			Status                            int
			Name                              string `json:"client_name"`
		}
		if json.Unmarshal([]byte(line), &e) != nil || e.Message != "exchange" {
			continue
		}
		switch {
		case e.Name == "news" && e.Purpose == "an archive" && e.Reason != "credentials":
			named++
		case e.Name == "" && e.Verdict == "denied" && e.Reason == "credentials" && e.Status == http.StatusProxyAuthRequired:
		default:
			t.Errorf("the log has %s", line)
		}
	}
	if named == 0 {
		t.Error("the log names nobody")
	}
	for _, secret := range []string{password, escaped, passwordHash} {
		if strings.Contains(h.Log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}
