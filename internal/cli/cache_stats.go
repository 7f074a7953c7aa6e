package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"heed/internal/admin"
	"heed/internal/store"
)

type cacheStatsCmd struct {
	cacheFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Help is the end of heed cache stats --help.
func (c *cacheStatsCmd) Help() string {
	return `It asks the heed that serves with this state directory, and reads the file where none does.

Exit status: 0 counted, 1 a fault, 2 a command line that cannot be read.`
}

func (c *cacheStatsCmd) Run(command *kong.Context, std streams) error {
	return c.with(command, func(ctx context.Context, cache admin.Cache) error {
		s, err := cache.Stats(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(std.out).Encode(s)
		}
		return printStats(std.out, s)
	})
}

func printStats(w io.Writer, s store.Stats) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, visible(fmt.Sprintf(format, args...)))
	}
	row("file", "%s", s.File)
	row("size", "%d octets", s.Octets)
	row("origins", "%d: %d successful, %d unavailable, %d unreachable", s.Records, s.Successful, s.Unavailable, s.Unreachable)
	row("stale", "%d", s.Stale)
	row("files", "%d different, %d octets compressed", s.Bodies, s.BodyOctets)
	row("damaged", "%d", s.Damaged)
	if !s.Oldest.IsZero() {
		row("checked", "from %s to %s", second(s.Oldest), second(s.Newest))
	}
	if r := s.Running; r != nil {
		row("this heed", "%d records saved, %d lost, %d damaged, %d waiting; %d faults, %d files set aside", r.Saved, r.Lost, r.Damaged, r.Waiting, r.Faults, r.SetAside)
		if r.Degraded != "" {
			row("degraded", "%s", r.Degraded)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the counts: %w", err)
	}
	return nil
}
