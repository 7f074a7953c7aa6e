package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"heed/internal/agent"
	"heed/internal/app"
	"heed/internal/config"
	"heed/internal/origin"
	"heed/internal/override"
	"heed/policy"
)

// Exit statuses of heed check.
const (
	checkDisallowed = 1
	checkUnknown    = 2
)

type checkCmd struct {
	fileFlag
	upstreamFlags
	Agent       []string `placeholder:"TOKEN" sep:"none" xor:"who" help:"Product token of the crawler, such as ExampleBot; repeated: each must be allowed. '*' is any other crawler."`
	UserAgent   string   `placeholder:"FIELD" xor:"who" help:"Take the product tokens from a User-Agent field."`
	Robots      string   `placeholder:"FILE" help:"Read robots.txt from FILE (- is standard input) instead of fetching it."`
	Dialect     string   `placeholder:"NAME" help:"Answer as NAME reads robots.txt: rfc9309, google, robotstxt, apetest, rerp or koster-1996; all compares them."`
	NoOverrides bool     `name:"no-overrides" help:"Leave out the overrides of the configuration: answer as robots.txt has it."`
	Sitemaps    bool     `help:"List the sitemaps of robots.txt with their lines, instead of asking for URLs."`
	JSON        bool     `help:"Print a JSON object a line, one for each URL, and for each dialect if all are asked; with --sitemaps one for each sitemap."`
	JSONL       bool     `name:"jsonl" help:"Answer queries in JSON lines on standard input; see above."`
	URL         []string `arg:"" optional:"" name:"url" help:"URLs to check; with --robots also paths, such as /private/."`
}

// Help is the end of heed check --help.
func (c *checkCmd) Help() string {
	return `The answer is what heed's proxy would do: the URL is tested as written and in the other forms that servers take it for (/./x, //x, /%2e/x); a form that met a rule is shown. Where the configuration has an override for the origin, that decides, its record is shown, and robots.txt is not fetched; --no-overrides leaves them out, and so do --robots and --dialect.

What the robots.txt asks of the pace is shown where there is anything: the time between two requests by Crawl-delay or Request-rate, the longest of all groups that count, and what pace.max_delay leaves of it; Visit-time and whether it is open now; and records whose value cannot be read, which decide nothing.

--dialect NAME answers as another parser or document reads the file: google, robotstxt (Ruby, Crystal), apetest and rerp (Python), koster-1996 (the draft of that year). Its reading alone is asked, without the other forms, and what it makes of the status of a fetched robots.txt counts: 403 disallows everything for rerp, and where it has no word on a status the answer is left to its user. rerp looks for names in the whole field that --user-agent gives. rfc9309 is the default without the caution of the configuration. --dialect all prints a table of all, and whether they agree.

--sitemaps lists every Sitemap record of the robots.txt of each URL, or of --robots FILE, and marks those that are no whole http or https URL. No agent is needed.

--json gives for each URL: url, verdict, allowed, reason; agent (whose group decided), group, group_line, group_names; rule, line, pattern, path, form; dialect, decided_by (another that a cautious proxy heeds), outcome (follow-rules, allow-all, disallow-all, defer or leave-open), lifetime_seconds and lifetime_by_expires (how long the dialect uses a copy, and whether an Expires field comes before that); agents (asked for); crawl_delay in seconds and records (of the group that applies), sitemaps; pace (interval_seconds now, line and record that ask for it, cut_to_seconds by pace.max_delay; visit_time with open, opens_in_seconds and line; unread, the records of pace whose value cannot be read, with line, kind, value and error; of all groups that count for the agents); robots, source_url, hops, response_code, access, fetched, expires; override (for, action, file, reason, reference, owner, expires); explained, error. The body is in heed lint --json.

--jsonl reads lines {"robots_b64": …, "agents": […], "url": …} and writes a line {"allowed": true, "line": 3} for each, in their order: the groups of all agents are combined, line is 0 where no rule matched, and the URL is compared by RFC 9309 alone, or as the --dialect compares it. "agent" may stand for "agents" with one token; "agents_b64", "agent_b64" and "url_b64" take base64 of octets that are not UTF-8. A line that cannot be read is answered by {"error": …}.

Exit status: 0 all URLs are allowed, 1 one is not, 2 it could not be told for one (robots.txt unreachable, left to the dialect's user, a bad URL, a bad command line). With --dialect all: 1 if any dialect disallows one, else 2 if it could not be told for one. With --sitemaps: 0 they were listed, 2 a robots.txt could not be read. With --jsonl: 0 all lines were answered, 2 one was not.`
}

func (c *checkCmd) Run(command *kong.Context, std streams) error {
	return failing(c.run(command, std), checkUnknown)
}

func (c *checkCmd) run(command *kong.Context, std streams) error {
	if c.JSONL {
		return c.answerLines(std)
	}
	if len(c.URL) == 0 && !(c.Sitemaps && c.Robots != "") {
		return &failure{err: errors.New("no URL to check"), hint: "heed check --agent ExampleBot https://example.com/page"}
	}
	dialects, err := c.dialects()
	if err != nil {
		return err
	}
	var who policy.Tokens
	if !c.Sitemaps {
		if who, err = c.tokens(); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	source, done, err := c.source(command, std.in)
	if err != nil {
		return err
	}
	defer done()
	if c.Sitemaps {
		return c.listSitemaps(ctx, source, dialects, std.out)
	}
	k := asker{source: source, who: who, dialects: dialects}
	worst := worst{all: c.all()}
	for _, url := range c.URL {
		answers := k.ask(ctx, url)
		if err := c.print(std.out, answers); err != nil {
			return fmt.Errorf("printing the answer: %w", err)
		}
		for _, a := range answers {
			worst.add(a.status())
		}
	}
	return worst.err()
}

// answerLines answers queries.
func (c *checkCmd) answerLines(std streams) error {
	if len(c.URL) > 0 || len(c.Agent) > 0 || c.UserAgent != "" || c.Robots != "" || c.Sitemaps {
		return &failure{err: errors.New("--jsonl takes everything from its lines"), hint: "leave out the URLs, --agent, --user-agent, --robots and --sitemaps"}
	}
	dialects, err := c.dialects()
	if err != nil {
		return err
	}
	switch len(dialects) {
	case 0:
		return answerLines(policy.RFC9309, std.in, std.out)
	case 1:
		return answerLines(dialects[0], std.in, std.out)
	}
	return &failure{err: errors.New("--jsonl answers as one dialect"), hint: "give the name of one with --dialect"}
}

// tokens returns who asks.
func (c *checkCmd) tokens() (policy.Tokens, error) {
	if c.UserAgent != "" {
		return agent.Tokens([]string{c.UserAgent}), nil
	}
	if len(c.Agent) == 0 {
		return policy.Tokens{}, &failure{
			err:  errors.New("it is not said who asks"),
			hint: "give --agent TOKEN, --agent '*' for any crawler, or --user-agent with a whole field",
		}
	}
	for _, token := range c.Agent {
		if token != "*" && (token == "" || strings.Trim(token, tokenOctets) != "") {
			return policy.Tokens{}, &failure{
				err:  fmt.Errorf("--agent %q is not a product token, which has letters, digits, _ and - only", token),
				hint: "give the name alone, such as ExampleBot, or the whole field with --user-agent",
			}
		}
	}
	return policy.Tokens{Main: c.Agent}, nil
}

// tokenOctets are those of a product token: RFC 9309 §2.2.1, and digits.
const tokenOctets = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// source is where robots.txt files come from: one file for all or the origins.
type source struct {
	// get finds the robots.txt for an origin. The zero origin stands for a URL
	// that is only a path.
	get       func(ctx context.Context, o origin.Origin) (*policy.Snapshot, error)
	fetches   bool
	limit     int             // octets read of a file
	granted   time.Duration   // the longest interval between requests that the configuration grants a site
	overrides *override.Table // those that come before it; nil: none
}

// source returns where robots.txt comes from and what to call when no more is
// asked.
func (c *checkCmd) source(command *kong.Context, stdin io.Reader) (source, func(), error) {
	cfg, err := load(command)
	if err != nil {
		return source{}, nil, err
	}
	limit := int(cfg.Robots.Limit)
	if c.Robots == "" {
		overrides, err := c.overrides(cfg)
		if err != nil {
			return source{}, nil, err
		}
		fetcher, err := app.NewBodyFetcher(cfg, thisBuild().Version)
		if err != nil {
			return source{}, nil, err
		}
		get := func(ctx context.Context, o origin.Origin) (*policy.Snapshot, error) {
			if o == (origin.Origin{}) {
				return nil, errors.New("not a URL with http:// or https://; a path alone needs --robots")
			}
			s, err := fetcher.Snapshot(ctx, o)
			if err != nil {
				return nil, err
			}
			return &s, nil
		}
		return source{get: get, fetches: true, limit: limit, granted: time.Duration(cfg.Pace.MaxDelay), overrides: overrides}, fetcher.Close, nil
	}
	body, err := readRobots(c.Robots, stdin, limit)
	if err != nil {
		return source{}, nil, err
	}
	rules := policy.Compile(body, policy.Options{Limit: limit, Cautious: cfg.Policy.Cautious, Strict: cfg.Policy.StrictPaths})
	s := &policy.Snapshot{URL: c.Robots, Rules: rules, Size: len(body), Truncated: rules.Truncated(), Body: body, Cautious: cfg.Policy.Cautious}
	get := func(context.Context, origin.Origin) (*policy.Snapshot, error) { return s, nil }
	return source{get: get, limit: limit, granted: time.Duration(cfg.Pace.MaxDelay)}, func() {}, nil
}

// overrides returns the overrides that come before robots.txt.
func (c *checkCmd) overrides(cfg config.Config) (*override.Table, error) {
	if c.NoOverrides || c.Dialect != "" || c.Sitemaps {
		return nil, nil
	}
	return app.NewOverrides(cfg)
}

// readRobots reads one octet more than the limit, by which Compile sees that
// there is more.
func readRobots(path string, stdin io.Reader, limit int) ([]byte, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, &failure{err: fmt.Errorf("reading robots.txt: %w", err), hint: "name a file, or - for standard input"}
		}
		defer func() { _ = f.Close() }() // it was only read
		stdin = f
	}
	body, err := io.ReadAll(io.LimitReader(stdin, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("reading robots.txt: %w", err)
	}
	return body, nil
}

// splitURL splits a URL into its origin and its target. A path alone has the
// zero origin.
func splitURL(url string) (origin.Origin, string, error) {
	if strings.HasPrefix(url, "/") {
		return origin.Origin{}, policy.TargetOf("//" + url), nil
	}
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return origin.Origin{}, "", errors.New("not a URL with http:// or https://")
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#;"); end >= 0 {
		authority = rest[:end]
	}
	o, err := origin.Parse(scheme, authority)
	return o, policy.TargetOf(url), err
}

func (c *checkCmd) print(w io.Writer, answers []answer) error {
	if c.JSON {
		encoder := json.NewEncoder(w)
		for _, a := range answers {
			if err := encoder.Encode(a.data()); err != nil {
				return err
			}
		}
		return nil
	}
	text := answers[0].String()
	if c.all() {
		text = table(answers)
	}
	_, err := io.WriteString(w, text)
	return err
}
