package e2e

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTunnelDenialIsSeen: without interception a denial is the answer to the
// CONNECT itself. Each client shows its user of that what it shows of any
// proxy's refusal: some the phrase, some the number alone.
func TestTunnelDenialIsSeen(t *testing.T) {
	const url = "https://closed.example/x"
	o := newOrigin(t, map[string]string{"closed.example": "User-agent: *\nDisallow: /\n"}, nil)
	config := writeConfig(t, "https:\n  mode: tunnel\nupstream:\n  roots: "+o.rootFile+"\n")
	h := startHeed(t, nil, append([]string{"--config", config}, o.connectTo()...)...)
	byHand := settingsOf(t, h)

	refusal := send(t, h.Proxy, "CONNECT", "CONNECT closed.example:443 HTTP/1.1\r\nHost: closed.example:443\r\n\r\n")
	if refusal.status != 403 {
		t.Fatalf("CONNECT closed.example:443: %s, want 403", refusal.reason)
	}
	decisionOf(t, refusal.fields)
	_, phrase, _ := strings.Cut(refusal.reason, " ")
	if !strings.Contains(phrase, "robots.txt") || strings.ContainsFunc(phrase, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("phrase %q: want a short ASCII one that names robots.txt", phrase)
	}

	t.Run("clients", func(t *testing.T) {
		for _, c := range clients {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				program := programOf(t, c)
				env := cleanEnv(t.TempDir(), c.byHand(byHand)...)
				out := execute(t, 2*time.Minute, env, slices.Concat(program, c.argv(url))...)
				shown := slices.Concat(out.stdout, []byte("\n"), out.stderr)
				for bit, text := range map[sight]string{
					seesNumber: "403",
					seesPhrase: phrase,
					seesFields: "Robots-Decision: disallowed",
					seesBody:   "Disallow: /",
					// Chromium shows nothing of the proxy's
					seesFailure: "ERR_TUNNEL_CONNECTION_FAILED",
				} {
					if c.tunnel&bit != 0 && !bytes.Contains(shown, []byte(text)) {
						t.Errorf("its user does not see %q:\n%.4000s", text, shown)
					}
				}
				result := "ok"
				if t.Failed() {
					result = "FAILED"
				}
				note(c.name, "tunnel", result)
			})
		}
	})
	if got := o.requests("/x"); len(got) > 0 {
		t.Errorf("requests reached the origin: %+v", got)
	}
}

// TestTunnelRelays: without interception an origin that is not closed as a
// whole is relayed unread, with its own certificate.
func TestTunnelRelays(t *testing.T) {
	o := newOrigin(t, map[string]string{openHost: "User-agent: *\n" + rule + "\n"}, nil)
	config := writeConfig(t, "https:\n  mode: tunnel\nupstream:\n  roots: "+o.rootFile+"\n")
	h := startHeed(t, nil, append([]string{"--config", config}, o.connectTo()...)...)
	program, err := onPath("curl")()
	if err != nil {
		if inCI() {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	env := cleanEnv(t.TempDir(), "https_proxy="+h.url(), "CURL_CA_BUNDLE="+o.rootFile)
	out := execute(t, time.Minute, env, append(program, "-sS", "https://"+openHost+"/relayed")...)
	if want := "https " + openHost + " /relayed"; string(out.stdout) != want {
		t.Errorf("curl printed %q, want %q\n%s", out.stdout, want, out.stderr)
	}
}
