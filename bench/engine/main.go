// Command engine measures heed next to its peers: how much a proxy can do on one
// processor, and what an exchange costs in it.
//
//	go run ./engine                                       # from the top of the module bench
//	go run ./engine -rounds 1 -seconds 1 -only 'plain, 1 KiB, 32' -out ''
//	go run ./engine -only 'heed|squid' -only intercepted  # these two, in these scenarios
//	go run ./engine -heed PATH                            # a binary that is there already
//
// It builds the heed of the tree around the module. Each proxy has one processor
// for itself; clients and origin share another. It writes engine.json and
// engine.md into the folder of -out and prints the latter; README.md of the
// module says how to read them. The first fault, of a peer too, ends the run: it
// exits with 1 and names it.
//
// It needs Linux and two processors.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"heed/bench/binary"
	"heed/bench/engine/load"
	"heed/bench/record"
)

func main() {
	var err error
	if args := os.Args[1:]; len(args) > 0 && args[0] == "serve-as" {
		err = serveAs(args[1:]) // a signal ends it at once
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = measureAll(ctx, args)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/engine:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own: this is its edge
	}
}

// options are the flags.
type options struct {
	out, tree, heed, version string
	rounds                   int
	seconds, warm            float64
	only                     list
	requireAll               bool
}

// list is a flag that can be given often.
type list []*regexp.Regexp

func (l *list) String() string { return "" }

func (l *list) Set(s string) error {
	r, err := regexp.Compile(s)
	*l = append(*l, r)
	return err
}

// wants tells whether each expression fits.
func (l list) wants(name string) bool {
	return !slices.ContainsFunc(l, func(r *regexp.Regexp) bool { return !r.MatchString(name) })
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("engine", flag.ExitOnError)
	flags.StringVar(&o.out, "out", "engine/results", "folder for engine.json and engine.md; empty: write nothing")
	flags.StringVar(&o.tree, "tree", "..", "folder of the heed to build and measure")
	flags.StringVar(&o.heed, "heed", "", "a heed binary to measure, instead of building one")
	flags.StringVar(&o.version, "version", "unknown", "version of heed, for the record")
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.Float64Var(&o.seconds, "seconds", 1.5, "time of each measurement")
	flags.Float64Var(&o.warm, "warm", 0.5, "time before each that does not count")
	flags.Var(&o.only, "only", "regular expression that \"SCENARIO: PARTICIPANT\" has to fit; may be given several times")
	flags.BoolVar(&o.requireAll, "require-all", false, "a peer that is not installed is an error")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q: only flags are understood", flags.Arg(0))
	case o.rounds < 1 || o.seconds <= 0 || o.warm <= 0:
		return o, fmt.Errorf("-rounds %d, -seconds %g, -warm %g: want more than nothing", o.rounds, o.seconds, o.warm)
	}
	return o, nil
}

func measureAll(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	c, err := coresOf()
	if err != nil {
		return err
	}
	jobs, absent, err := choose(o)
	if err != nil {
		return err
	}
	debug.SetGCPercent(-1) // what clients and origin leave behind is not to be noticed …
	debug.SetMemoryLimit(512 << 20)
	b := &bench{cores: &c, heed: o.heed, warm: seconds(o.warm), time: seconds(o.seconds)}
	if b.id, err = load.NewIdentity(); err != nil {
		return err
	}
	if o.heed == "" {
		var remove func()
		if b.heed, remove, err = binary.Build(ctx, o.tree, c.compile); err != nil {
			return err
		}
		defer remove()
	}
	rounds, err := b.rounds(ctx, jobs, o.rounds)
	if err != nil {
		return err
	}
	r := resultsOf(o, jobs, absent, rounds)
	return record.Write(o.out, "engine", r, r.markdown())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// job is a scenario and who takes part in it.
type job struct {
	scenario     *scenario
	participants []*participant
}

// choose goes by -only, and finds who is absent, and why.
func choose(o options) (jobs []job, absent map[string]string, err error) {
	absent = map[string]string{}
	for i := range scenarios {
		s := &scenarios[i]
		j := job{scenario: s}
		for _, p := range participants {
			if !s.takes(p) || !o.only.wants(s.name+": "+p.name) {
				continue
			}
			if why := p.absent(); why != "" {
				absent[p.name] = why
				continue
			}
			j.participants = append(j.participants, p)
		}
		if len(j.participants) > 0 {
			jobs = append(jobs, j)
		}
	}
	switch {
	case len(absent) > 0 && o.requireAll:
		return nil, nil, fmt.Errorf("absent, and -require-all was given: %v; tools/deps bench installs them", absent)
	case len(jobs) == 0:
		return nil, nil, errors.New("-only leaves nothing to measure; without it all scenarios and participants are in the table")
	}
	return jobs, absent, nil
}

// rounds measures everything once in each round, so that what slows the machine
// down for a while does not fall on one participant.
func (b *bench) rounds(ctx context.Context, jobs []job, rounds int) ([]round, error) {
	all := make([]round, rounds)
	for n := range all {
		all[n] = round{}
		for _, j := range jobs {
			all[n][j.scenario.name] = map[string]figures{}
			for i := range j.participants {
				p := j.participants[i]
				if n%2 == 1 {
					p = j.participants[len(j.participants)-1-i]
				}
				f, err := b.measure(ctx, j.scenario, p)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", j.scenario.name, p.name, err)
				}
				all[n][j.scenario.name][p.name] = f
				fmt.Fprintf(os.Stderr, "round %d of %d, %s, %s: %.0f/s, %.1f µs CPU, p50 %.0f µs, p99 %.0f µs, %.0f MiB; processors %.2f and %.2f\n", n+1, rounds,
					j.scenario.name, p.name, f[perSecond], f[cpuMicros], f[p50Micros], f[p99Micros], f[peakMiB], f[proxyBusy], f[loadBusy])
			}
		}
	}
	return all, nil
}

// round is what one round measured, by scenario and participant.
type round map[string]map[string]figures
