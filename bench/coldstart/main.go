// Command coldstart measures how long heed takes for many origins that it has
// never met: each has its own address, answers after a latency, and is asked for
// one page by one of many clients at a time. So for each origin there is one
// wait for its robots.txt and one for the page, and no fewer.
//
//	go run ./coldstart                    # from the top of the module bench; two minutes
//	go run ./coldstart -rounds 1 -out ''  # shorter, and nothing is written
//
// It builds the heed of the tree around the module and drives the binary over TCP. It
// writes coldstart.json and coldstart.md into the folder of -out and prints the
// latter. README.md of the module says how to read them. It exits with 1, and
// says why, if it could not measure, or if any origin was asked for its
// robots.txt more than once, or not at all.
//
// Every address of 127.0.0.0/8 must be this machine's, as it is on Linux.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"heed/bench/binary"
	"heed/bench/record"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measureAll(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/coldstart:", err)
		os.Exit(1) //nolint:forbidigo,gocritic // a program of its own: this is its edge, and the signals end with it
	}
}

// effort is how much is measured.
type effort struct {
	origins int
	latency time.Duration
	rounds  int
}

func measureAll(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("coldstart", flag.ExitOnError)
	out := flags.String("out", "coldstart/results", "folder for coldstart.json and coldstart.md; empty: write nothing")
	tree := flags.String("tree", "..", "folder of the heed to measure")
	version := flags.String("heed", "unknown", "version of heed, for the record")
	at := flags.String("concurrency", "32,64,128,256", "clients at a time, and robots.concurrency, of each row")
	var e effort
	flags.IntVar(&e.origins, "origins", 10_000, "how many there are")
	flags.DurationVar(&e.latency, "latency", 20*time.Millisecond, "how long an origin takes to answer")
	flags.IntVar(&e.rounds, "rounds", 5, "how often everything is measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	concurrencies, err := numbers(*at)
	switch {
	case err != nil:
		return fmt.Errorf("-concurrency %q: %w", *at, err)
	case flags.NArg() > 0:
		return fmt.Errorf("%q: only flags are understood", flags.Arg(0))
	case e.origins < 1 || e.origins > 1<<20:
		return fmt.Errorf("-origins %d: want 1 to %d", e.origins, 1<<20)
	case e.rounds < 1 || e.latency <= 0:
		return fmt.Errorf("-rounds %d, -latency %v: want more than nothing", e.rounds, e.latency)
	}
	heed, remove, err := binary.Build(ctx, *tree, (*exec.Cmd).CombinedOutput)
	if err != nil {
		return err
	}
	defer remove()
	rows, err := run(ctx, heed, concurrencies, e)
	if err != nil {
		return err
	}
	r := &results{environment{record.Here(), *version}, effortOf(e), rows}
	return record.Write(*out, "coldstart", r, r.markdown())
}

func numbers(list string) (all []int, err error) {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number above 0", s)
		}
		all = append(all, n)
	}
	return all, nil
}

// run measures each row once in each round, so that what slows the machine down
// for a while does not fall on one row.
func run(ctx context.Context, heed string, concurrencies []int, e effort) ([]row, error) {
	rows := make([]row, len(concurrencies))
	for round := range e.rounds {
		for i, n := range concurrencies {
			fmt.Fprintf(os.Stderr, "round %d of %d, %d at a time\n", round+1, e.rounds, n)
			m, err := once(ctx, heed, n, e)
			if err != nil {
				return nil, fmt.Errorf("%d at a time: %w", n, err)
			}
			rows[i].add(n, m)
		}
	}
	for i := range rows {
		rows[i].finish(e)
	}
	return rows, nil
}

// once measures one cold start: new origins, a new heed, new clients.
func once(ctx context.Context, heed string, concurrency int, e effort) (measurement, error) {
	origins, err := newOrigins(e)
	if err != nil {
		return measurement{}, err
	}
	defer origins.close()
	h, err := start(heed, concurrency)
	if err != nil {
		return measurement{}, err
	}
	own, began := ownCPU(), time.Now()
	err = ask(ctx, h.Proxy, origins, concurrency)
	m := measurement{took: time.Since(began), own: ownCPU() - own}
	if m.cpu, m.memory, err = h.stop(err); err != nil {
		return measurement{}, err
	}
	return m, origins.check()
}
