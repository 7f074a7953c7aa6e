package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"heed/internal/app"
	"heed/internal/config"
	"heed/policy"
	"heed/policy/lint"
)

// Exit statuses of heed lint.
const (
	lintFound   = 1
	lintUnknown = 2
)

// maxLint is how many octets of a file are read: many times what crawlers do.
const maxLint = 64 << 20

type lintCmd struct {
	fileFlag
	upstreamFlags
	JSON  bool   `xor:"form" help:"Print one JSON object: what was found, and what is in the file."`
	SARIF bool   `name:"sarif" xor:"form" help:"Print SARIF 2.1.0, for code-scanning services."`
	Fix   bool   `xor:"form" help:"Print the file mended, with the same verdicts for every crawler that reads as heed does. Nothing is written over."`
	Path  string `arg:"" name:"file" help:"A file, - for standard input, or a URL, of whose origin the robots.txt is fetched."`
}

// Help is the end of heed lint --help.
func (c *lintCmd) Help() string {
	return `Each diagnostic has its place, how bad it is, what crawlers make of it and how to mend it, and a code; docs/lint.md has them all.

Exit status: 0 nothing worse than a note was found (with --fix: the file was printed), 1 there is a warning or an error, 2 the file could not be read.`
}

// lintee is a robots.txt to be checked, and where it comes from.
type lintee struct {
	path     string // as given, or the URL of the robots.txt
	body     []byte
	limit    int              // octets of it that heed reads
	snapshot *policy.Snapshot // nil unless it was fetched
}

func (c *lintCmd) Run(command *kong.Context, std streams) error {
	return failing(c.run(command, std), lintUnknown)
}

func (c *lintCmd) run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	l, err := c.read(cfg, std.in)
	if err != nil {
		return err
	}
	if c.Fix {
		return printFixed(std.out, l)
	}
	report := lint.Check(l.body, lint.Options{Limit: l.limit})
	if err := c.print(std.out, l, report); err != nil {
		return fmt.Errorf("printing what was found: %w", err)
	}
	if worst, _ := report.Worst(); worst > lint.Note {
		return status(lintFound)
	}
	return nil
}

func (c *lintCmd) print(w io.Writer, l lintee, report *lint.Report) error {
	switch {
	case c.JSON:
		return printLintJSON(w, l, report)
	case c.SARIF:
		return printSARIF(w, l, report)
	}
	_, err := io.WriteString(w, lintText(l, report))
	return err
}

func printFixed(w io.Writer, l lintee) error {
	if l.snapshot != nil && l.snapshot.Truncated {
		return &failure{
			err:  fmt.Errorf("%s is longer than the %d octets that were read, and cannot be printed whole", l.path, l.limit),
			hint: "save the file and give its name",
		}
	}
	if _, err := w.Write(lint.Fix(l.body)); err != nil {
		return fmt.Errorf("printing the mended file: %w", err)
	}
	return nil
}

// read reads the file, or fetches it.
func (c *lintCmd) read(cfg config.Config, stdin io.Reader) (lintee, error) {
	if lower := strings.ToLower(c.Path); strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://") {
		return c.fetch(cfg)
	}
	body, err := readRobots(c.Path, stdin, maxLint)
	if err != nil {
		return lintee{}, err
	}
	if len(body) > maxLint {
		return lintee{}, &failure{
			err:  fmt.Errorf("%s has more than %d octets", c.Path, maxLint),
			hint: fmt.Sprintf("crawlers read the first %d; give a shorter file", policy.DefaultLimit),
		}
	}
	return lintee{path: c.Path, body: body, limit: int(cfg.Robots.Limit)}, nil
}

// fetch fetches the robots.txt of the origin that the URL has.
func (c *lintCmd) fetch(cfg config.Config) (lintee, error) {
	o, _, err := splitURL(c.Path)
	if err != nil {
		return lintee{}, fmt.Errorf("%s: %w", visible(c.Path), err)
	}
	fetcher, err := app.NewBodyFetcher(cfg, thisBuild().Version)
	if err != nil {
		return lintee{}, err
	}
	defer fetcher.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := fetcher.Snapshot(ctx, o)
	if err != nil {
		return lintee{}, fmt.Errorf("fetching %s: %w", o.RobotsURL(), err)
	}
	return fetched(&s, int(cfg.Robots.Limit))
}

// fetched returns what there is to check of a snapshot.
func fetched(s *policy.Snapshot, limit int) (lintee, error) {
	switch {
	case s.Access == policy.Unavailable:
		return lintee{}, &failure{
			err:  fmt.Errorf("there is no %s (status %d): everything is allowed", s.URL, s.Status),
			hint: "give the file that is to be served there",
		}
	case s.Access != policy.Successful:
		return lintee{}, fmt.Errorf("%s cannot be reached: %s", s.URL, visible(s.Err))
	case s.Body == nil && s.Size > 0:
		return lintee{}, fmt.Errorf("of %s only the rules were kept", s.URL)
	}
	return lintee{path: s.URL, body: s.Body, limit: limit, snapshot: s}, nil
}
