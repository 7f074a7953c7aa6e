package bypass

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// row is an idea of the catalogue.
type row struct {
	id, why string
	on      channel
	request request
	want    outcome
	do      func(*trial)
}

// request is what is sent. The zero value of a member is what a well-behaved
// client has there.
type request struct {
	method  string // "": GET
	host    string // authority of the target; "": rules.test
	target  string
	version string // "": HTTP/1.1
	agent   string // "": ExampleBot/1.0; "-": no such field
	hostIs  string // the value of Host; "": host; "-": no such field
	fields  []string
	body    string
	direct  bool // at a heed that connects to where names and addresses are

	// octets stands for all of that: {mark} is replaced by the trial's mark, {evil}
	// by one that must never arrive. It is read on P, C and M alone.
	octets string
}

// outcome is what must come of it.
type outcome struct {
	reaches bool
	status  []int // one of them; 0: closed without an answer
	begins  bool  // it may arrive in part, which is cut off

	unlessStrict bool // with policy.strict_paths it is denied
}

func reached() outcome { return outcome{reaches: true, status: []int{200}} }
func unlessStrict() outcome {
	return outcome{reaches: true, status: []int{200}, unlessStrict: true}
}
func denied() outcome               { return outcome{status: []int{403}} }
func refused(status ...int) outcome { return outcome{status: status} }
func (o outcome) allows(s int) bool { return slices.Contains(o.status, s) }

// trial is a row on a channel.
type trial struct {
	*testing.T
	*heed
	*origin
	row
	channel
	strictly   bool // with policy.strict_paths
	mark, evil string
}

const rulesHost = "rules.test"

// hosts are what the origin has robots.txt files for.
var hosts = map[string]string{
	rulesHost:            "User-agent: *\nDisallow: /private\n",
	"closed.test":        "User-agent: *\nDisallow: /\n",
	"open.test":          "User-agent: *\nAllow: /\n",
	"joe.test":           "User-agent: *\nDisallow: /~joe\n",
	"slash.test":         "User-agent: *\nDisallow: /a%2Fb\n",
	"decoded.test":       "User-agent: *\nDisallow: /a/b\n",
	"cafe.test":          "User-agent: *\nDisallow: /caf%C3%A9\n",
	"query.test":         "User-agent: *\nDisallow: /q?secret\n",
	"go.test":            "User-agent: *\nDisallow: /go?to=https://x.example\n",
	"encoded.test":       "User-agent: *\nDisallow: /go?to=https%3A%2F%2Fx.example\n",
	"named.test":         "User-agent: goodbot\nAllow: /\n\nUser-agent: badbot\nDisallow: /\n\nUser-agent: *\nDisallow: /\n",
	"banned.test":        "User-agent: badbot\nDisallow: /\n",
	"tie.test":           "User-agent: *\nDisallow: /page\nAllow: /page\n",
	"longest.test":       "User-agent: *\nDisallow: /p\nAllow: /page\n",
	"wild.test":          "User-agent: *\nDisallow: /*.pdf$\n",
	"empty.test":         "",
	"html.test":          "<!doctype html><title>Welcome</title><p>Disallow: nothing here\n",
	"under_score.test":   "User-agent: *\nDisallow: /private\n",
	"xn--bcher-kva.test": "User-agent: *\nDisallow: /private\n",
}

var catalogue = slices.Concat(authorities, tunnels, paths, agents, framings, allowed)

func TestBypass(t *testing.T) { tryAll(t, false) }

func TestBypassWithStrictPaths(t *testing.T) { tryAll(t, true) }

// tryAll tries all rows, with policy.strict_paths or without.
func tryAll(t *testing.T, strictly bool) {
	more := fmt.Sprintf("policy:\n  strict_paths: %v\n", strictly)
	o := newOrigin(t)
	for host, robots := range hosts {
		o.serve(host, robots)
	}
	h, direct := startHeed(t, led(o)+more), startHeed(t, more)
	before := 0
	var forbidden []string // marks
	for n, r := range catalogue {
		if strictly && r.want.unlessStrict {
			r.want = denied()
		}
		for _, ch := range channels {
			if r.on&ch.channel == 0 {
				continue
			}
			name := fmt.Sprintf("%s/%s/%s", r.id, strings.ReplaceAll(r.why, "/", "|"), ch.name)
			t.Run(name, func(t *testing.T) {
				mark := fmt.Sprintf("<row %d %s>", n, ch.name)
				x := &trial{t, h, o, r, ch.channel, strictly, mark, "<evil>" + mark[1:]}
				if r.request.direct {
					x.heed = direct
				}
				x.run()
				forbidden = append(forbidden, x.evil)
				if r.do == nil && !r.want.reaches && !r.want.begins {
					forbidden = append(forbidden, mark)
				}
			})
		}
		if n == 0 { // what every heed has open is open now
			before = h.descriptors(t)
		}
	}
	h.descriptorsAreBack(t, before)
	for _, mark := range forbidden { // late ones too
		if o.saw(mark) {
			t.Errorf("%s arrived:\n%s", mark, o.around(mark))
		}
	}
}

func (x *trial) run() {
	if x.do != nil {
		x.do(x)
	} else {
		a := x.send()
		x.check(a)
	}
	if x.saw(x.evil) {
		x.Errorf("what must not arrive did:\n%s", x.around(x.evil))
	}
	if !x.request.direct {
		x.lives(x.T)
	}
}

// send sends the row's request on the trial's channel.
func (x *trial) send() answer {
	x.Helper()
	host := x.request.host
	if host == "" {
		host = rulesHost
	}
	conn, err := x.open(x.channel, host)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	var a answer
	if x.channel == h2 {
		a, err = x.sendStream(conn, host)
	} else {
		method := x.request.method
		if method == "" {
			method = "GET"
		}
		a, err = send(conn, method, x.octets(host))
	}
	if err != nil {
		x.Fatalf("%v", err)
	}
	return a
}

// octets is the request as it is written on a connection.
func (x *trial) octets(host string) string {
	q := x.request
	if q.octets != "" {
		return x.fill(q.octets)
	}
	target := x.fill(q.target)
	if x.channel == p {
		target = "http://" + host + target
	}
	lines := []string{or(q.method, "GET") + " " + target + " " + or(q.version, "HTTP/1.1")}
	if q.hostIs != "-" {
		lines = append(lines, "Host: "+or(q.hostIs, host))
	}
	if q.agent != "-" {
		lines = append(lines, "User-Agent: "+or(q.agent, "ExampleBot/1.0"))
	}
	lines = append(lines, "X-Mark: "+x.mark)
	for _, field := range q.fields {
		lines = append(lines, x.fill(field))
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + x.fill(q.body)
}

func (x *trial) fill(text string) string {
	return strings.NewReplacer("{mark}", x.mark, "{evil}", x.evil).Replace(text)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (x *trial) sendStream(conn net.Conn, host string) (answer, error) {
	s, err := newStreams(conn)
	if err != nil {
		return answer{}, err
	}
	q := x.request
	fields := []string{":method", or(q.method, "GET"), ":scheme", "https", ":authority", or(q.hostIs, host), ":path", x.fill(q.target)}
	if q.agent != "-" {
		fields = append(fields, "user-agent", or(q.agent, "ExampleBot/1.0"))
	}
	fields = append(fields, "x-mark", x.mark)
	for _, field := range q.fields {
		name, value, _ := strings.Cut(x.fill(field), ":")
		fields = append(fields, strings.ToLower(name), strings.TrimSpace(value))
	}
	return s.ask(x.fill(q.body), fields...)
}

// check compares what came of it with what must.
func (x *trial) check(a answer) {
	x.Helper()
	if !x.want.allows(a.status) {
		x.Errorf("answered %d %.300q, want %v", a.status, a.body, x.want.status)
	}
	arrived := x.around(x.mark)
	switch {
	case x.want.begins:
	case x.want.reaches && arrived == "":
		x.Errorf("it did not arrive; answered %d %.300q", a.status, a.body)
	case !x.want.reaches && arrived != "":
		x.Errorf("it arrived:\n%s", arrived)
	case x.want.reaches && x.request.octets == "" && !strings.Contains(arrived, or(x.request.method, "GET")+" "+or(x.fill(x.request.target), "/")+" HTTP/1.1\r\n"):
		x.Errorf("it arrived changed:\n%s", arrived)
	}
}

// lives asks for a page that is allowed.
func (h *heed) lives(t *testing.T) {
	t.Helper()
	conn, err := h.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if a, err := send(conn, "GET", "GET http://open.test/alive HTTP/1.1\r\nHost: open.test\r\nConnection: close\r\n\r\n"); err != nil || a.status != 200 {
		t.Errorf("the next client got %d %.200q, %v", a.status, a.body, err)
	}
}
