package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"heed/internal/admin"
	"heed/internal/store"
)

type cacheLsCmd struct {
	cacheFlags
	JSON    bool   `name:"json" help:"Print a JSON line an origin."`
	Pattern string `arg:"" optional:"" default:"*" placeholder:"PATTERN" help:"Which origins: example.com, '*.example.com'; all if left out."`
}

// Help is the end of heed cache ls --help.
func (c *cacheLsCmd) Help() string {
	return patternHelp + `

Exit status: 0 listed, also if there is nothing to list, 1 a fault, 2 a command line that cannot be read.`
}

func (c *cacheLsCmd) Run(command *kong.Context, std streams) error {
	patterns, err := origins{c.Pattern}.parse()
	if err != nil {
		return err
	}
	return c.with(command, func(ctx context.Context, cache admin.Cache) error {
		if c.JSON {
			_, err := printLines(ctx, std.out, cache, patterns[0], false)
			return err
		}
		return printTable(ctx, std.out, cache, patterns[0])
	})
}

// printLines prints entries as JSON, in which every control character is
// escaped, and returns how many there were.
func printLines(ctx context.Context, w io.Writer, cache admin.Cache, p store.Pattern, bodies bool) (n int, err error) {
	out := json.NewEncoder(w)
	for e, err := range cache.List(ctx, p, bodies) {
		if err != nil {
			return n, err
		}
		if err := out.Encode(e); err != nil {
			return n, fmt.Errorf("writing the list: %w", err)
		}
		n++
	}
	return n, nil
}

// tableRows are how many rows are aligned with each other: there may be a
// million of them.
const tableRows = 500

func printTable(ctx context.Context, w io.Writer, cache admin.Cache, p store.Pattern) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	now, rows := time.Now(), 0
	for e, err := range cache.List(ctx, p, false) {
		if err != nil {
			_ = table.Flush() // the fault is told
			return err
		}
		if rows == 0 {
			fmt.Fprintln(table, "ORIGIN\tACCESS\tSTATUS\tSIZE\tCHECKED\tFRESH")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", visible(e.Origin), e.Access, statusOf(e), e.Size, minute(e.Checked), freshness(e, now))
		if rows++; rows%tableRows == 0 {
			if err := table.Flush(); err != nil {
				return fmt.Errorf("writing the list: %w", err)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}

func statusOf(e store.Entry) string {
	if e.Status == 0 {
		return "-"
	}
	return strconv.Itoa(e.Status)
}

// minute returns a time for a table.
func minute(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

// freshness says in a few words how long an entry is used.
func freshness(e store.Entry, now time.Time) string {
	switch {
	case e.Retry.After(now):
		return fmt.Sprintf("failed %d×, retry %s", e.Attempts, minute(e.Retry))
	case e.FreshUntil.IsZero():
		return "-"
	case !e.StaleSince.IsZero():
		return "stale since " + minute(e.StaleSince)
	}
	return "until " + minute(e.FreshUntil)
}
