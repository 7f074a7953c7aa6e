package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dunglas/httpsfv"

	"heed/internal/audit"
	"heed/policy"
)

// explanation is all that is to be said of a decision, in the terms of RFC
// 9457: the first five are its members, the others are extensions. It is what
// every form of an answer, and /why, is made from.
type explanation struct {
	Type     string `json:"type,omitempty"`     // absolute URL, one per kind; empty where there is no problem
	Title    string `json:"title"`              // the same for one kind
	Status   int    `json:"status"`             //
	Detail   string `json:"detail"`             // this case, in a sentence
	Instance string `json:"instance,omitempty"` // where it can be looked up; empty where nothing was recorded

	ID       string   `json:"id,omitempty"`
	Decision string   `json:"decision,omitempty"` // "allowed", "disallowed" or "unreachable"; empty when none was made
	URL      string   `json:"url,omitempty"`
	Agent    string   `json:"agent,omitempty"`    // the product token that was decided for
	Group    string   `json:"group,omitempty"`    // as written in the file
	Rule     string   `json:"rule,omitempty"`     // as written in the file
	Line     int      `json:"line,omitempty"`     //
	Form     string   `json:"form,omitempty"`     // the normalised form of the path that met the rule
	Dialect  string   `json:"dialect,omitempty"`  // whose reading it is; empty for RFC 9309
	Tokens   []string `json:"tokens,omitempty"`   // all product tokens of the client
	Robots   string   `json:"robots,omitempty"`   // URL of the robots.txt
	Access   string   `json:"access,omitempty"`   // access result of its fetch
	Fetched  string   `json:"fetched,omitempty"`  // when, RFC 3339 in UTC
	Note     string   `json:"note,omitempty"`     // what else the reader should know
	Remedy   string   `json:"remedy,omitempty"`   // what can be done
	Retry    int      `json:"retry_in,omitempty"` // seconds

	Report   bool          `json:"report,omitempty"`   // it was forwarded only because the mode is report
	Override *overrideTold `json:"override,omitempty"` // nil where the operator did not decide
	Pace     *paceTold     `json:"pace,omitempty"`     // nil where it had not to wait
	Client   *clientTold   `json:"client,omitempty"`   // nil where the configuration does not name it

	made texts // those above that were put together
}

// maxShown bounds the texts that come from a file or a client.
const maxShown = 512

// explain puts an exchange and its problem into words. pr is nil for one that
// had none.
func (p *Proxy) explain(e *audit.Entry, pr *problem) *explanation {
	out := new(explanation)
	p.explainTo(out, e, pr)
	return out
}

// explainTo is explain where the explanation, which is empty, is part of
// something else. Its texts may be those of e.
func (p *Proxy) explainTo(out *explanation, e *audit.Entry, pr *problem) {
	out.made.Grow(roomForTexts)
	out.ID = e.ID
	out.Tokens = slices.Clip(e.Tokens.Main)
	if len(e.Tokens.Also) > 0 {
		out.Tokens = append(out.Tokens, e.Tokens.Also...)
	}
	if e.ID != "" {
		out.Instance = out.made.join("http://", Host, "/why?id=", e.ID)
	}
	if e.Origin != "" {
		out.URL = out.made.join(e.Origin, shown(e.Target))
	}
	if e.Origin != "" && e.Channel == audit.Connect {
		out.URL = e.Origin
	}
	out.Client = tellClient(e.Identity)
	out.addDecision(e)
	if pr != nil && pr.kind == kindPaced {
		out.Decision = "paced"
	}
	out.Pace = tellPace(e)
	out.Report = e.Report
	switch {
	case pr != nil:
		out.Type, out.Title, out.Status = out.made.join(problemPages, pr.kind.name), pr.kind.title, pr.kind.status
		out.Remedy, out.Retry = remedyOf(pr.kind, e), pr.retrySeconds()
		out.Detail = out.made.sentence(pr.Error())
	case e.Report:
		out.tellReport(e)
	case e.Verdict != audit.Answered:
		out.Title, out.Status = "Allowed", http.StatusOK
		out.Detail = out.made.sentence(e.Decision.String())
	case e.Channel == audit.Connect:
		out.Title, out.Status = "Tunnel", http.StatusOK
		out.Detail = "The tunnel was opened to look inside: each request in it is decided on by itself."
	default:
		out.Title, out.Status = "Page of heed's own", http.StatusOK
		out.Detail = "Heed answered this itself, so that no robots.txt was asked."
	}
}

// clientTold is a client as it is told. The texts are the operator's.
type clientTold struct {
	Name    string `json:"name"`
	Purpose string `json:"purpose,omitempty"`
	Project string `json:"project,omitempty"`
	Contact string `json:"contact,omitempty"`
}

func tellClient(i *audit.Identity) *clientTold {
	if i == nil {
		return nil
	}
	return &clientTold{shown(i.Name), shown(i.Purpose), shown(i.Project), shown(i.Contact)}
}

// appendFacts appends the lines of a page.
func (c *clientTold) appendFacts(all []Fact) []Fact {
	if c == nil {
		return all
	}
	return append(all,
		Fact{"Client", c.Name, inCode},
		Fact{"Purpose", c.Purpose, ""},
		Fact{"Project", c.Project, ""},
		Fact{"Contact", c.Contact, ""},
	)
}

// addDecision tells what robots.txt said, when it was asked.
func (out *explanation) addDecision(e *audit.Entry) {
	d := e.Decision
	if d.Reason == 0 && e.Snapshot == nil { // no decision was made
		if e.Pace.Cause != "" && len(e.Tokens.Main) > 0 { // since the turn of its robots.txt did not come
			out.Agent, out.Robots = strings.ToLower(shown(e.Tokens.Main[0])), out.made.join(e.Origin, robotsTxt)
		}
		return
	}
	switch {
	case d.Allowed:
		out.Decision = "allowed"
	case d.Reason == policy.ReasonUnreachable:
		out.Decision = "unreachable"
	default:
		out.Decision = "disallowed"
	}
	out.Agent = strings.ToLower(shown(asked(e)))
	out.Group, out.Rule, out.Line, out.Form = shown(d.Group), shown(d.Rule()), d.Line, shown(d.Form)
	out.Dialect = d.Dialect
	out.Override = tell(d.Override)
	if d.Override != nil && e.Channel == audit.Connect {
		out.Note = tunnelNote
	}
	if s := e.Snapshot; s != nil {
		out.Robots, out.Access = s.URL, s.Access.String()
		if !s.Fetched.IsZero() {
			out.Fetched = out.made.moment(s.Fetched)
		}
		if e.Channel == audit.Connect {
			out.Note = tunnelNote
		}
		if s.Charset != "" && out.Note == "" {
			out.Note = "The robots.txt was " + s.Charset + "."
		}
		if !s.StaleSince.IsZero() {
			out.Note = "The origin's robots.txt is unreachable since " + s.StaleSince.UTC().Format(time.RFC3339) + "; the last good copy is used on."
		}
	}
}

const tunnelNote = "The tunnel is not read, so the origin as a whole was decided on, by the rules for its path /."

// asked is the product token that was decided for: the one whose group counted,
// or, where it was the group for "*", the client's own.
func asked(e *audit.Entry) string {
	if token := e.Decision.Token; token != "*" || len(e.Tokens.Main) == 0 {
		return token
	}
	return e.Tokens.Main[0]
}

// remedies says what a reader can do, where there is something.
var remedies = map[*kind]string{
	kindDisallowed:    "The site's owner does not want this client to request this address. Leave it out, or ask the owner for permission.",
	kindOverride:      "The operator of this proxy decided this in place of the site's robots.txt. Leave the address out, or ask whoever is named as the owner of the override.",
	kindRestricted:    cautiousRemedy,
	kindPaced:         "Ask again when Retry-After says, and not before. The operator of this proxy can let requests wait for longer with pace.hold.",
	kindUnreachable:   "Try again later: heed asks for the robots.txt again by itself after a pause.",
	kindRobotsPending: "Try again in a few seconds: the fetch goes on.",
	kindClientRefused: "The operator of this proxy can add the address to clients.allow.",
	kindCredentials:   "Give your client the URL of this proxy with the name and the password that its operator gave you: http://NAME:PASSWORD@HOST:PORT, where what is neither letter nor digit is percent-encoded.",
	kindIdentity:      "Send a User-Agent with a name of your own and a way to reach you, such as ExampleBot/1.0 (+https://example.com/bot). Or the operator of this proxy can set one for this client with token and user_agent in clients.named.",
	kindDestination:   "Leave the host out. Or the operator of this proxy can add it to the destinations of this client in clients.named.",
	kindQuota:         "Wait as long as Retry-After says: what is asked before then is refused, and uses up nothing. The operator of this proxy can change quota in clients.named.",
	kindPortRefused:   "The operator of this proxy can add the port to connect_ports.",
	kindTLSDenied:     "The operator of this proxy can change https.mode, or add an exception for this host.",
	kindAddress:       "The operator of this proxy can open the range with allow_address.",
	kindLoop:          "Check that heed's own proxy variables, or an upstream proxy, do not lead back to heed.",
	kindProxy:         "The operator of this proxy can look after the one that it goes through (upstream.proxy), or except this host from it with upstream.direct.",
	kindProxyTimeout:  "Try again later. The operator of this proxy can look after the one that it goes through (upstream.proxy).",
	kindCertificate:   "If the origin uses a private CA, the operator of this proxy can add it with upstream.roots or SSL_CERT_FILE.",
	kindTLSAlert:      "The origin may want a certificate of the client, or speak a version of TLS before 1.2. A client that has such a certificate can bring it when the operator of this proxy excepts the host: https.exceptions with mode tunnel.",
	kindTLS:           "Try http:// in place of https://, or another port: what answers there does not speak TLS as it should.",
}

// cautiousRemedy is for what RFC 9309 does not deny.
const cautiousRemedy = "RFC 9309 allows it. The operator of this proxy chose to deny what any dialect denies, and can undo that with policy.cautious: false."

// refusedRemedy is for what RFC 9309 does not deny, either.
const refusedRemedy = "RFC 9309 allows it. The operator of this proxy chose to take the refusal for a complete restriction, and can undo that with robots.refused: unavailable."

func remedyOf(k *kind, e *audit.Entry) string {
	if k == kindRestricted && e.Decision.Dialect == "" {
		return refusedRemedy
	}
	if k == kindDisallowed && e.Decision.Dialect != "" {
		return cautiousRemedy
	}
	return remedies[k]
}

// problemPages and a kind's name are the type of a problem.
const problemPages = "http://" + Host + "/problems/"

// shown makes foreign octets fit for people and their terminals: bounded,
// UTF-8, and nothing in it that is not seen, such as controls and marks that
// turn the direction of writing.
func shown(s string) string {
	if len(s) > maxShown {
		end := maxShown
		for end > maxShown-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end-- // not within a character
		}
		s = s[:end] + "…"
	}
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsPrint(r) || r == utf8.RuneError && n == 1 {
			for range n {
				fmt.Fprintf(&b, "%%%02X", s[i])
				i++
			}
			continue
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String()
}

// clean tells whether s is printable ASCII, as nearly all texts are. It looks at
// eight octets at a time: all that is said goes through here more than once.
func clean(s string) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		// Where no octet is above 0x7e adding one sets no high bit, and where none
		// is below a blank subtracting one from another clears none.
		if (v|(v+each)|(v-' '*each))&high != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// phrase is the reason phrase at CONNECT, where many clients show nothing
// else: short ASCII, cause first.
func phrase(e *explanation) string {
	var facts []string
	if e.Override != nil {
		facts = append(facts, e.Override.Reason)
	}
	if e.Dialect != "" {
		facts = append(facts, "dialect "+e.Dialect)
	}
	if e.Rule != "" {
		facts = append(facts, fmt.Sprintf("line %d: %s", e.Line, e.Rule))
	}
	s := e.Title
	if len(facts) > 0 {
		s += " (" + strings.Join(facts, ", ") + ")"
	}
	var b strings.Builder
	for i := 0; i < len(s) && i < 120; i++ {
		if s[i] >= ' ' && s[i] < 0x7f {
			b.WriteByte(s[i])
		} else {
			b.WriteByte('?')
		}
	}
	return b.String()
}

// robotsDecision is the Robots-Decision field (a Structured Field item, RFC
// 9651). Empty when no decision was made and nothing is reported.
func robotsDecision(e *explanation, entry *audit.Entry) string {
	word := e.Decision
	if e.Report && (word == "" || word == "allowed") { // it is not for the decision that it would have been denied
		word = entry.Denial.Reason
	}
	if word == "" {
		return ""
	}
	var buffer [512]byte
	i := item(append(buffer[:0], word...))
	if e.Report {
		i = i.flag("report")
	}
	if word == kindPaced.name {
		return e.made.octets(e.Pace.params(i).number("retry", e.Retry).text("agent", e.Agent).text("robots", e.Robots).text("id", e.ID))
	}
	if entry.Decision.Reason != 0 {
		i = i.text("reason", entry.Decision.Reason.String())
	}
	i = i.text("agent", e.Agent).text("group", e.Group).text("rule", e.Rule).number("line", max(e.Line, 0))
	i = i.text("form", e.Form).text("dialect", e.Dialect)
	i = e.Override.params(i)
	if entry.IsPacedToo() {
		i = i.text("paced", e.Pace.Cause).seconds("interval", duration(e.Pace.Interval))
	}
	return e.made.octets(i.text("robots", e.Robots).text("id", e.ID))
}

// proxyStatus is the Proxy-Status field (RFC 9209).
func (p *Proxy) proxyStatus(e *explanation, pr *problem) string {
	var buffer [512]byte
	i := item(append(buffer[:0], p.Name...))
	return e.made.octets(i.token("error", pr.kind.signal).text("details", asciiOnly(e.Detail)))
}

// asciiOnly percent-encodes what a String cannot hold.
func asciiOnly(s string) string {
	if clean(s) {
		return s
	}
	return strings.ReplaceAll(url.PathEscape(s), "%20", " ")
}

func marshal(v httpsfv.StructuredFieldValue) string {
	s, err := httpsfv.Marshal(v)
	if err != nil {
		return "" // unreachable: every value above is of a kind that a field can hold
	}
	return s
}
