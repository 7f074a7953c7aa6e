// Command policy measures heed/policy next to other readers of robots.txt, in
// one run, over real files: what a decision costs, what reading a file costs,
// what holding it costs, and how often the answer is the right one.
//
//	go run ./policy                   # from the top of the module bench; a minute or two
//	go run ./policy -rounds 5 -out '' # shorter, and nothing is written
//
// It writes comparison.json and comparison.md into the folder of -out and
// prints the latter. README.md of the module says how to read them. It exits
// with 1, and says why, if it could not measure; that includes real files that
// are not there.
//
// The same work stands as Go benchmarks in the tests of this package.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"heed/bench/record"
)

func main() {
	if err := compareAll(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/policy:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own: this is its edge
	}
}

func compareAll(args []string) error {
	flags := flag.NewFlagSet("policy", flag.ExitOnError)
	data := flags.String("data", defaultData, "the real files with judged queries, gzip'd JSON Lines")
	out := flags.String("out", "policy/results", "folder for comparison.json and comparison.md; empty: write nothing")
	version := flags.String("heed", "unknown", "version of heed, for the record")
	var e effort
	flags.IntVar(&e.rounds, "rounds", 7, "how often everything is measured; at least 5")
	flags.DurationVar(&e.pass, "pass", 300*time.Millisecond, "the least time of one measurement")
	flags.IntVar(&e.stride, "stride", 7, "one in this many queries is asked with the parse included")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q: only flags are understood", flags.Arg(0))
	case e.rounds < 5:
		return fmt.Errorf("-rounds %d: fewer than 5 say nothing of a noisy machine", e.rounds)
	case e.stride < 1:
		return fmt.Errorf("-stride %d: want 1, which is every query, or more", e.stride)
	}

	all, err := readCorpus(*data)
	if err != nil {
		return err
	}
	c := &comparison{Environment: environmentNow(*version), Effort: effortOf(e)}
	c.Agreements, c.Rows, err = examine(all, e)
	if err != nil {
		return err
	}
	return record.Write(*out, "comparison", c, c.markdown())
}

// examine asks everything once, to see who is right and who fails where, then
// measures.
func examine(all *corpus, e effort) ([]agreement, []row, error) {
	said := func(what string) { fmt.Fprintln(os.Stderr, what) }
	own, _ := compare(heed, all, heedVerdicts)
	asGoogle, _ := compare(heedGoogle, all, googleVerdicts)
	agreements := []agreement{own, asGoogle}
	failed := map[string]map[*file]error{}
	for _, p := range participants {
		said("asking everything: " + p.name)
		a, failures := compare(p, all, googleVerdicts)
		agreements = append(agreements, a)
		failed[p.name] = failures
	}
	if n := len(failed[heed.name]); n > 0 {
		return nil, nil, fmt.Errorf("heed failed on %d files, which it never does: %s", n, own.Failure)
	}
	rows, err := run(measures(all, failed, e), e, said)
	return agreements, rows, err
}
