// Command soak keeps a heed busy with all that it may meet, good and bad, for as
// long as it is told, and says what came of it.
//
//	go run ./soak -for 10m      # from the top of the module bench
//
// It builds the heed of the tree around the module and drives the binary over TCP:
// clients of http, of https in HTTP/1.1 and HTTP/2, with bodies, that go away, that
// send garbage, that hold tunnels; origins that answer, drip, break off, fail, and
// whose robots.txt is good, absent, broken, slow or large. What robots.txt allows is
// said by another parser (grobotstxt), and the origin is the witness: a request that
// reaches it and is disallowed is a wrong decision, and so is a denial by a rule of
// what is allowed.
//
// It prints a line every ten seconds: requests, decisions, heed's memory,
// descriptors and goroutines. It exits with 1, and says why, if a decision was wrong,
// if heed ended, or if in the end, when nothing is under way, it holds more than it
// did after the first minute.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"heed/bench/binary"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := soak(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/soak:", err)
		os.Exit(1) //nolint:forbidigo,gocritic // a program of its own: this is its edge, and the signals end with it
	}
}

func soak(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	tree := flags.String("tree", "..", "folder of the heed to drive")
	long := flags.Duration("for", 10*time.Minute, "how long")
	clients := flags.Int("clients", 32, "how many ask at a time")
	sites := flags.Int("sites", 300, "how many hosts there are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q: only flags are understood", flags.Arg(0))
	case *long < time.Second || *clients < 1 || *sites < 1:
		return fmt.Errorf("-for %v, -clients %d, -sites %d: want a second and one at least", *long, *clients, *sites)
	}
	built, remove, err := binary.Build(ctx, *tree, (*exec.Cmd).CombinedOutput)
	if err != nil {
		return err
	}
	defer remove()
	t := &tally{}
	w := newWeb(*sites, t)
	defer w.close()
	if err := w.serve(ctx); err != nil {
		return err
	}
	p, err := start(ctx, built, w)
	if err != nil {
		return err
	}
	judged := drive(ctx, p, w, t, *clients, *long)
	if err := p.stop(); err != nil {
		return err
	}
	return judged
}
