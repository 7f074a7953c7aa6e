package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"heed/internal/replay"
)

// replayOutput is what heed replay prints.
type replayOutput struct {
	cmd   *replayCmd
	std   streams
	tally *replay.Tally
	state string // the state directory that was looked in
}

// replayRows is how many origins and rules are shown of a kind; JSON has more.
const (
	replayRows     = 20
	replayJSONRows = 1000
)

// read replays one log.
func (o *replayOutput) read(ctx context.Context, log replayLog, what replay.Config) error {
	defer log.close()
	if !o.cmd.JSONL {
		return replay.Read(ctx, log.name, log, what, o.tally, nil)
	}
	buffered := bufio.NewWriterSize(o.std.out, 64<<10)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	err := replay.Read(ctx, log.name, log, what, o.tally, func(c *replay.Change) error { return lines.Encode(c) })
	if flushed := buffered.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("writing the changes: %w", flushed)
	}
	return err
}

// print prints the summary.
func (o *replayOutput) print() error {
	if o.cmd.JSON {
		s := o.tally.Summary(replayJSONRows)
		out := json.NewEncoder(o.std.out)
		out.SetEscapeHTML(false)
		if err := out.Encode(s); err != nil {
			return fmt.Errorf("writing the summary: %w", err)
		}
		return nil
	}
	s := o.tally.Summary(replayRows)
	for _, f := range s.Faults {
		fmt.Fprintf(o.std.err, "heed: %s\n", f)
	}
	if rest := s.Unread - len(s.Faults); rest > 0 {
		fmt.Fprintf(o.std.err, "heed: %s cannot be read\n", count(rest, "further line"))
	}
	w := o.std.out
	if o.cmd.JSONL {
		w = o.std.err
	}
	if _, err := io.WriteString(w, replayText(s)); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	if s.Unknown > 0 && o.cmd.Robots == "" && !o.cmd.Fetch && o.cmd.CacheFile == "" {
		fmt.Fprintf(o.std.err, "hint: it was looked in %s; --state-dir, or --config, says where else a heed keeps its files (--policy does not); for a log of heed run, name its file with --cache-file: robots-run.db in the state directory; --fetch asks the origins now\n", o.state)
	}
	return nil
}

// status is the exit status.
func (o *replayOutput) status() error {
	s := o.tally.Summary(0)
	switch {
	case s.NowDenied+s.NowAllowed > 0:
		return status(replayChanges)
	case s.Unknown+s.Unread > 0:
		return status(replayUnknown)
	}
	return nil
}

// replayText is the summary for people.
func replayText(s replay.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", count(s.Requests, "request"))
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	row := func(n int, what string) { fmt.Fprintf(table, "%d\t  %s\n", n, what) }
	row(s.Same, "would be as they were"+ofThese(s))
	row(s.NowDenied, "would be newly denied")
	row(s.NowAllowed, "would be newly forwarded")
	if s.Unknown > 0 {
		row(s.Unknown, "cannot be told")
	}
	_ = table.Flush() // to memory
	replayTable(&b, "newly denied", s.Denied)
	replayTable(&b, "newly forwarded, denied before", s.Allowed)
	replayTable(&b, "cannot be told", s.Unknowns)
	if s.Answered+s.Passed+s.Unread > 0 {
		fmt.Fprintf(&b, "left out: %s of tunnels and pages of heed's own, %s of something else, %s that cannot be read\n",
			count(s.Answered, "line"), count(s.Passed, "line"), count(s.Unread, "line"))
	}
	return b.String()
}

func ofThese(s replay.Summary) string {
	var parts []string
	if s.Moved > 0 {
		parts = append(parts, fmt.Sprintf("%d by another rule", s.Moved))
	}
	if s.Marked > 0 {
		parts = append(parts, fmt.Sprintf("%d newly marked in report mode", s.Marked))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func replayTable(b *strings.Builder, title string, rows []replay.Row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", title)
	table := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		if r.Origin == "" {
			r.Origin = "…"
		}
		fmt.Fprintf(table, "  %d\t%s\t%s\n", r.N, visible(r.Origin), visible(r.Why))
	}
	_ = table.Flush() // to memory
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
