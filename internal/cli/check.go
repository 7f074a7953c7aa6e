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

	"github.com/alecthomas/kong"

	"heed/internal/agent"
	"heed/internal/app"
	"heed/internal/origin"
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
	Agent     []string `placeholder:"TOKEN" sep:"none" xor:"who" help:"Product token of the crawler, such as ExampleBot; repeated: each must be allowed. '*' is any other crawler."`
	UserAgent string   `placeholder:"FIELD" xor:"who" help:"Take the product tokens from a User-Agent field."`
	Robots    string   `placeholder:"FILE" help:"Read robots.txt from FILE (- is standard input) instead of fetching it."`
	JSON      bool     `help:"Print a JSON object a line, one for each URL."`
	JSONL     bool     `name:"jsonl" help:"Answer queries in JSON lines on standard input; see above."`
	URL       []string `arg:"" optional:"" name:"url" help:"URLs to check; with --robots also paths, such as /private/."`
}

// Help is the end of heed check --help.
func (c *checkCmd) Help() string {
	return `The answer is what heed's proxy would do: the URL is tested as written and in the other forms that servers take it for (/./x, //x, /%2e/x); a form that met a rule is shown.

--jsonl reads lines {"robots_b64": …, "agents": […], "url": …} and writes a line {"allowed": true, "line": 3} for each, in their order: the groups of all agents are combined, line is 0 where no rule matched, and the URL is compared by RFC 9309 alone. "agent" may stand for "agents" with one token; "agents_b64", "agent_b64" and "url_b64" take base64 of octets that are not UTF-8. A line that cannot be read is answered by {"error": …}.

Exit status: 0 all URLs are allowed, 1 one is not, 2 it could not be told for one (robots.txt unreachable, a bad URL, a bad command line). With --jsonl: 0 all lines were answered, 2 one was not.`
}

func (c *checkCmd) Run(command *kong.Context, std streams) error {
	err := c.run(command, std)
	var s status
	if err == nil || errors.As(err, &s) {
		return err
	}
	f := &failure{err: err}
	errors.As(err, &f)
	return &failure{err: err, code: checkUnknown, hint: f.hint}
}

func (c *checkCmd) run(command *kong.Context, std streams) error {
	if c.JSONL {
		if len(c.URL) > 0 || len(c.Agent) > 0 || c.UserAgent != "" || c.Robots != "" {
			return &failure{err: errors.New("--jsonl takes everything from its lines"), hint: "leave out the URLs, --agent, --user-agent and --robots"}
		}
		return answerLines(std.in, std.out)
	}
	if len(c.URL) == 0 {
		return &failure{err: errors.New("no URL to check"), hint: "heed check --agent ExampleBot https://example.com/page"}
	}
	who, err := c.tokens()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	source, done, err := c.source(command, std.in)
	if err != nil {
		return err
	}
	defer done()
	worst := 0
	for _, url := range c.URL {
		answer := ask(ctx, source, who, url)
		if err := c.print(std.out, answer); err != nil {
			return fmt.Errorf("printing the answer: %w", err)
		}
		worst = max(worst, answer.status())
	}
	if worst > 0 {
		return status(worst)
	}
	return nil
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

// source finds the robots.txt for an origin. The zero origin stands for a URL
// that is only a path.
type source func(ctx context.Context, o origin.Origin) (*policy.Snapshot, error)

// source returns where robots.txt comes from, one file for all or the origins,
// and what to call when no more is asked.
func (c *checkCmd) source(command *kong.Context, stdin io.Reader) (source, func(), error) {
	cfg, err := load(command)
	if err != nil {
		return nil, nil, err
	}
	if c.Robots == "" {
		fetcher, err := app.NewFetcher(cfg, thisBuild().Version)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, o origin.Origin) (*policy.Snapshot, error) {
			if o == (origin.Origin{}) {
				return nil, errors.New("not a URL with http:// or https://; a path alone needs --robots")
			}
			return fetcher.Snapshot(ctx, o)
		}, fetcher.Close, nil
	}
	limit := int(cfg.Robots.Limit)
	body, err := readRobots(c.Robots, stdin, limit)
	if err != nil {
		return nil, nil, err
	}
	rules := policy.Compile(body, policy.Options{Limit: limit})
	snapshot := &policy.Snapshot{URL: c.Robots, Rules: rules, Size: len(body), Truncated: rules.Truncated()}
	return func(context.Context, origin.Origin) (*policy.Snapshot, error) { return snapshot, nil }, func() {}, nil
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

// ask answers for one URL.
func ask(ctx context.Context, source source, who policy.Tokens, url string) answer {
	a := answer{URL: url}
	o, target, err := splitURL(url)
	if err != nil {
		a.fault = err
		return a
	}
	a.snapshot, a.fault = source(ctx, o)
	if a.fault == nil {
		a.decision = a.snapshot.Decide(who, target)
	}
	return a
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

func (c *checkCmd) print(w io.Writer, a answer) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(a.data())
	}
	_, err := io.WriteString(w, a.String())
	return err
}
