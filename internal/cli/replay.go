package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"heed/internal/admin"
	"heed/internal/app"
	"heed/internal/config"
	"heed/internal/replay"
	"heed/internal/store"
	"heed/policy"
)

// Exit statuses of heed replay.
const (
	replayChanges = 1
	replayUnknown = 2
)

type replayCmd struct {
	fileFlag
	stateFlag
	upstreamFlags
	Policy    string   `placeholder:"CONFIG" help:"Try this configuration: its policy, robots.refused, overrides, mode, modes, and the tokens and modes of its clients."`
	Mode      string   `placeholder:"MODE" help:"Try the mode enforce or report."`
	Dialect   string   `placeholder:"NAME" help:"Read robots.txt as google, robotstxt, apetest, rerp, koster-1996 or rfc9309 alone, or cautious: as all of them."`
	Token     string   `placeholder:"NAME" help:"Ask as this product token, whoever asked; '*' is any crawler."`
	Robots    string   `placeholder:"PATH" xor:"robots" help:"Take robots.txt from a file, for all origins, or from a folder with HOST_PORT.txt or HOST.txt for each."`
	Fetch     bool     `xor:"robots" help:"Ask the origins for their robots.txt now."`
	CacheFile string   `placeholder:"FILE" xor:"robots" help:"Take robots.txt from this cache file, as of heed run, or set aside."`
	JSON      bool     `xor:"form" help:"Print one JSON object."`
	JSONL     bool     `name:"jsonl" xor:"form" help:"Print a JSON line for each exchange that would change; the summary goes to standard error."`
	Audit     []string `arg:"" name:"audit" help:"Logs of heed, JSON lines; - is standard input. What ends in .gz is unpacked."`
}

// Help is the end of heed replay --help.
func (c *replayCmd) Help() string {
	return `It reads the exchanges of a log and says which would be denied that were forwarded, and the reverse, with the origin and the rule. Without --robots, --fetch and --cache-file the robots.txt files are those that heed keeps: it asks the heed that serves with this state directory, and reads the file where none does; whatever their age.

What is tried is the configuration of --policy, else that of --config (HEED_CONFIG), with the other flags over it. Without either, the mode stays what it was, and what an override decided stays decided. --mode is the mode of all, as for heed serve: modes and clients may say otherwise. --token and --dialect go before what a configuration says.

What was denied for another reason than robots.txt, an override or the mode stays denied: addresses, credentials, destinations, malformed requests. What was too fast, did not say who it was, or had a robots.txt that came late, stays denied unless the mode is report. An exchange whose robots.txt is not known is counted as such.

--json gives requests, same, moved (of the same: by another rule), marked (of the same: newly marked in report mode), newly_denied, newly_allowed, unknown, answered (tunnels and pages of heed's own), passed (other lines), unread and faults (lines that cannot be read), and newly_denied_by, newly_allowed_by, unknown_by with origin, why and n.
--jsonl gives id, url, tokens, before and after (denied, forwarded or reported), reason, rule and line of what decides, and reason_before, rule_before, line_before.

Exit status: 0 nothing would change, 1 something would, 2 nothing would as far as can be told, but for an exchange it could not be, or a line or a log could not be read; or a bad command line.`
}

func (c *replayCmd) Run(command *kong.Context, std streams) error {
	return failing(c.run(command, std), replayUnknown)
}

func (c *replayCmd) run(command *kong.Context, std streams) error {
	ctx := context.Background()
	base, err := load(command)
	if err != nil {
		return err
	}
	tried, err := c.tried(base)
	if err != nil {
		return err
	}
	what, done, err := c.config(command, base, tried)
	if err != nil {
		return err
	}
	defer done()
	logs, err := c.open(std.in)
	if err != nil {
		return err
	}
	out := replayOutput{cmd: c, std: std, state: base.StateDir, tally: replay.NewTally()}
	var faults []error
	for _, log := range logs {
		faults = append(faults, out.read(ctx, log, what))
	}
	if err := out.print(); err != nil {
		return err
	}
	if err := errors.Join(faults...); err != nil {
		return &failure{err: err, hint: "what was read before that is in the summary"}
	}
	return out.status()
}

// tried returns the configuration that is tried.
func (c *replayCmd) tried(base config.Config) (config.Config, error) {
	tried := base
	if c.Policy != "" {
		var over []config.Setting
		if c.Mode != "" {
			over = append(over, config.Setting{Key: "mode", Values: []string{c.Mode}, Source: "--mode"})
		}
		var err error
		if tried, err = config.Load(c.Policy, over...); err != nil {
			return tried, &failure{err: err, hint: "config.example.yaml shows every key; heed config check finds faults without starting anything"}
		}
	}
	if c.Dialect != "" {
		tried.Policy.Cautious = c.cautious()
	}
	return tried, nil
}

const cautiousDialect = "cautious"

func (c *replayCmd) cautious() bool { return strings.EqualFold(c.Dialect, cautiousDialect) }

// config returns what is tried, and what to call when it was.
func (c *replayCmd) config(command *kong.Context, base, tried config.Config) (replay.Config, func(), error) {
	d, err := c.dialect()
	if err != nil {
		return replay.Config{}, nil, err
	}
	if c.Token != "" && c.Token != "*" && strings.Trim(c.Token, tokenOctets) != "" {
		return replay.Config{}, nil, &failure{
			err:  fmt.Errorf("--token %q is not a product token, which has letters, digits, _ and - only", c.Token),
			hint: "give the name alone, such as ExampleBot",
		}
	}
	what, err := app.NewReplay(tried)
	if err != nil {
		return what, nil, err
	}
	if what.Configured = c.Policy != "" || configFile(command) != ""; !what.Configured {
		what.Overrides, what.Named, what.At = nil, nil, nil
		if c.Mode == "" {
			what.Reports = nil
		}
	}
	what.Token = c.Token
	if d != policy.RFC9309 {
		what.Decide = decideAs(d)
	}
	robots, done, err := c.robots(command, base, tried, d)
	if err != nil {
		return what, nil, err
	}
	what.Robots = replay.Remember(robots, int(tried.Cache.MaxBytes))
	return what, done, nil
}

func (c *replayCmd) dialect() (policy.Dialect, error) {
	if c.Dialect == "" || c.cautious() {
		return policy.RFC9309, nil
	}
	d, err := policy.DialectNamed(c.Dialect)
	if err != nil {
		return d, &failure{err: fmt.Errorf("--dialect: %w", err), hint: "give one of these names, or cautious for what any of them disallows"}
	}
	return d, nil
}

// decideAs answers as heed check --dialect does: by the reading of that dialect
// alone, and what it makes of a status.
func decideAs(d policy.Dialect) func(*policy.Snapshot, policy.Tokens, string) policy.Decision {
	return func(s *policy.Snapshot, who policy.Tokens, target string) policy.Decision {
		outcome := policy.FollowRules
		if s.Status != 0 || s.Access != policy.Successful {
			outcome = d.Outcome(s.Status)
		}
		agents := agentsFor(d, who, s.Rules)
		if outcome != policy.FollowRules || s.Rules == nil {
			return decideWithoutRules(d, outcome, agents, target)
		}
		decision, _ := decideAlone(s.Rules, agents, target)
		return decision
	}
}

// robots returns where robots.txt files come from.
func (c *replayCmd) robots(command *kong.Context, base, tried config.Config, d policy.Dialect) (replay.Robots, func(), error) {
	reading, done := app.NewReading(tried, d), func() {}
	switch {
	case c.Robots != "":
		info, err := os.Stat(c.Robots)
		if err != nil {
			return nil, nil, &failure{err: fmt.Errorf("reading robots.txt: %w", err), hint: "name a file, or a folder with a file for each host"}
		}
		if info.IsDir() {
			robots, err := app.RobotsFolder(reading, c.Robots)
			return robots, done, err
		}
		robots, err := app.RobotsFile(reading, c.Robots)
		return robots, done, err
	case c.Fetch:
		asking := base
		asking.Policy, asking.Robots, asking.Cache.MaxBytes = tried.Policy, tried.Robots, config.Size(1<<20) // replay remembers
		fetcher, err := app.NewBodyFetcher(asking, thisBuild().Version)
		if err != nil {
			return nil, nil, err
		}
		return app.RobotsFetched(reading, fetcher), fetcher.Close, nil
	}
	kept, err := c.kept(command)
	if err != nil {
		return nil, nil, err
	}
	return app.RobotsKept(reading, kept), done, nil
}

// kept returns what keeps robots.txt files, once it has answered: a file that
// another process has takes a second to say so, for each origin.
func (c *replayCmd) kept(command *kong.Context) (kept admin.Cache, err error) {
	ctx, socket := context.Background(), ""
	if c.CacheFile != "" {
		kept, err = fileCache{path: c.CacheFile}, isThere(c.CacheFile)
	} else {
		kept, socket, err = new(cacheFlags).own(ctx, command)
	}
	if err != nil {
		return nil, err
	}
	for _, err = range kept.List(ctx, store.Pattern{Host: "heed.invalid"}, false) {
		switch {
		case err == nil: // whoever that is
		case c.CacheFile != "" && errors.Is(err, store.ErrInUse):
			return nil, &failure{err: err, hint: "wait until the heed that has it ends; without --cache-file, the heed that serves is asked"}
		default:
			return nil, cacheFault(err, socket)
		}
	}
	return kept, nil
}

// replayLog is a log that is open.
type replayLog struct {
	name string
	io.Reader
	close func()
}

// open opens all logs, so that one that is not there is known before an hour has
// passed.
func (c *replayCmd) open(stdin io.Reader) (all []replayLog, err error) {
	for _, name := range c.Audit {
		log := replayLog{name: name, Reader: stdin, close: func() {}}
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return nil, &failure{err: fmt.Errorf("opening a log: %w", err), hint: "name logs that heed wrote (heed run --log FILE, or standard error of heed serve), or - for standard input"}
			}
			log.Reader, log.close = f, func() { _ = f.Close() } // it was only read
		}
		if strings.HasSuffix(name, ".gz") {
			if log.Reader, err = gzip.NewReader(log.Reader); err != nil {
				return nil, &failure{err: fmt.Errorf("unpacking %s: %w", name, err), hint: "what ends in .gz is to be packed by gzip"}
			}
		}
		all = append(all, log)
	}
	return all, nil
}
