package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"heed/internal/admin"
	"heed/internal/store"
)

type cacheShowCmd struct {
	cacheFlags
	JSON   bool   `name:"json" help:"Print JSON, a line an origin; the body, if --body is given, is in base64."`
	Body   bool   `help:"Print the robots.txt itself, octet for octet as it was received; on a terminal, with its control characters made visible."`
	Origin string `arg:"" placeholder:"ORIGIN" help:"Which: https://example.com, or example.com for http and https."`
}

// Help is the end of heed cache show --help.
func (c *cacheShowCmd) Help() string {
	return patternHelp + `

Exit status: 0 shown, 1 nothing is kept of it, or a fault, 2 a command line that cannot be read.`
}

func (c *cacheShowCmd) Run(command *kong.Context, std streams) error {
	patterns, err := origins{c.Origin}.parse()
	if err != nil {
		return err
	}
	return c.with(command, func(ctx context.Context, cache admin.Cache) error {
		switch {
		case c.JSON:
			printed, err := printLines(ctx, std.out, cache, patterns[0], c.Body)
			if err == nil && printed == 0 {
				err = c.nothing()
			}
			return err
		case c.Body:
			return c.printBody(ctx, std.out, cache, patterns[0])
		}
		return c.print(ctx, std.out, cache, patterns[0])
	})
}

// nothing is the failure where there is nothing to show.
func (c *cacheShowCmd) nothing() error {
	return &failure{err: fmt.Errorf("nothing is kept of %s", visible(c.Origin)), hint: "heed cache ls lists what is"}
}

func (c *cacheShowCmd) print(ctx context.Context, w io.Writer, cache admin.Cache, p store.Pattern) error {
	found := 0
	for e, err := range cache.List(ctx, p, false) {
		if err != nil {
			return err
		}
		if found++; found > 1 {
			fmt.Fprintln(w)
		}
		if err := printEntry(w, e); err != nil {
			return fmt.Errorf("writing what is kept: %w", err)
		}
	}
	if found == 0 {
		return c.nothing()
	}
	return nil
}

// printEntry prints all that is known of an origin but the body.
func printEntry(w io.Writer, e store.Entry) error {
	fmt.Fprintln(w, visible(e.Origin))
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "  %s\t%s\n", name, visible(value))
		}
	}
	row("access", e.Access)
	row("status", statusOf(e))
	row("checked", second(e.Checked))
	row("fetched", second(e.Fetched))
	row("fresh until", second(e.FreshUntil))
	row("fresh for", e.FreshFor)
	row("stale since", second(e.StaleSince))
	for _, hop := range e.Hops {
		row("redirected to", hop)
	}
	if e.Attempts > 0 {
		row("failed attempts", fmt.Sprint(e.Attempts))
	}
	row("retry", second(e.Retry))
	row("last error", e.Error)
	row("etag", e.ETag)
	row("last modified", e.LastModified)
	row("charset", e.Charset)
	if e.SHA256 != "" {
		row("size", fmt.Sprint(e.Size))
		row("SHA-256", e.SHA256)
	}
	return table.Flush()
}

// second returns a time to the second, "" for none.
func second(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// printBody prints the one body that there is.
func (c *cacheShowCmd) printBody(ctx context.Context, w io.Writer, cache admin.Cache, p store.Pattern) error {
	var shown *store.Entry
	for e, err := range cache.List(ctx, p, true) {
		if err != nil {
			return err
		}
		if shown != nil {
			return &failure{err: fmt.Errorf("%s is several origins: %s, %s", visible(c.Origin), visible(shown.Origin), visible(e.Origin)), hint: "name one of them"}
		}
		shown = &e
	}
	switch {
	case shown == nil:
		return c.nothing()
	case shown.SHA256 == "":
		return &failure{err: fmt.Errorf("%s has no robots.txt: it is %s", visible(shown.Origin), shown.Access), hint: "without --body, all else is shown"}
	}
	body := shown.Body
	if isTerminal(w) {
		body = cleaned(body)
	}
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("writing the body: %w", err)
	}
	return nil
}

// cleaned returns a body for a terminal, whose lines have nothing that it would
// obey.
func cleaned(body []byte) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(body)) {
		text := strings.TrimRight(line, "\r\n")
		shown := strings.ReplaceAll(text, "\t", " ")
		if visible(shown) != shown {
			shown = visible(text)
		}
		b.WriteString(shown + "\n")
	}
	return b.Bytes()
}
