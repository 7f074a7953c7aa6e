package audit

import (
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heed/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// denied is an exchange with every member set.
func denied() *Entry {
	return &Entry{
		ID:      "dc0go59ksdu8torkufo0",
		Start:   time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Client:  netip.MustParseAddrPort("127.0.0.1:40000"),
		Channel: Intercepted,
		Proto:   "HTTP/2.0",
		Method:  "GET",
		Origin:  "https://a.example",
		Target:  "/private/x?q=1",
		Tokens:  policy.Tokens{Main: []string{"examplebot"}, Also: []string{"otherbot"}},
		Decision: policy.Decision{
			Reason: policy.ReasonRule, Token: "examplebot", Group: "ExampleBot", GroupLine: 10,
			Value: "/private/", Line: 12, Pattern: "/private/", Form: "/private/x", Dialect: "robotstxt",
		},
		Snapshot:   &policy.Snapshot{URL: "https://a.example/robots.txt", Rules: policy.Compile([]byte("User-agent: *\nDisallow: /\n"), policy.Options{})},
		Reason:     "disallowed",
		Err:        "a cause",
		Status:     403,
		BytesIn:    7,
		BytesOut:   512,
		Duration:   1500 * time.Microsecond,
		RobotsWait: time.Millisecond,
		OriginWait: 250 * time.Microsecond,
	}
}

func TestWordsOfVerdictsAndChannels(t *testing.T) {
	for _, tt := range []struct {
		value interface{ String() string }
		want  string
	}{
		{Denied, "denied"},
		{Forwarded, "forwarded"},
		{Answered, "answered"},
		{Verdict(9), "denied"}, // what is not known was not forwarded
		{Plain, "plain"},
		{Connect, "connect"},
		{Tunnel, "tunnel"},
		{Intercepted, "intercepted"},
	} {
		if got := tt.value.String(); got != tt.want {
			t.Errorf("%#v: %q, want %q", tt.value, got, tt.want)
		}
	}
}

// TestEntryStartsOutDenied: an exchange that nobody decided on counts as
// denied.
func TestEntryStartsOutDenied(t *testing.T) {
	if e := new(Entry); e.Verdict != Denied || e.Decision.Allowed {
		t.Errorf("the zero Entry is %v, allowed %v", e.Verdict, e.Decision.Allowed)
	}
}
