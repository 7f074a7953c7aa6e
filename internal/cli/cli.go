// Package cli is heed's command line: one short file a command.
//
//	heed serve     run the proxy
//	heed run       run one command through a proxy of its own
//	heed env       print the variables that send a shell through a heed that runs
//	heed check     say what a robots.txt allows
//	heed lint      say what is wrong with a robots.txt, or mend it
//	heed replay    say what another configuration would have decided
//	heed health    ask a heed that runs whether it is ready
//	heed cache     look at the robots.txt files that are kept, or drop them
//	heed pace      say where requests wait, and for what
//	heed ca        show or export the CA
//	heed config    check or print the configuration
//	heed version   print the version
//
// It is the only package that reads the environment and knows exit statuses.
// What a key of the configuration is worth is decided here: a flag goes before
// a HEED_ variable, a variable before the file, the file before the default.
//
// Faults go to standard error as two lines: "heed: " and what happened, then
// "hint: " and what to do. Exit statuses: 0 for done, 1 for a fault, 2 for a
// command line that cannot be read; check, lint, replay and run have their own, which their
// help says.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// grammar is the command line.
type grammar struct {
	Serve   serveCmd   `cmd:"" help:"Run the proxy."`
	Run     runCmd     `cmd:"" help:"Run one command through a proxy of its own."`
	Env     envCmd     `cmd:"" help:"Print the variables that send a shell through a heed that runs."`
	Check   checkCmd   `cmd:"" help:"Say what a robots.txt allows."`
	Lint    lintCmd    `cmd:"" help:"Say what is wrong with a robots.txt, or mend it."`
	Replay  replayCmd  `cmd:"" help:"Say what another configuration would have decided of the exchanges in a log."`
	Health  healthCmd  `cmd:"" help:"Ask a heed that runs whether it is ready."`
	Cache   cacheCmd   `cmd:"" help:"Look at the robots.txt files that are kept, or drop them."`
	Pace    paceCmd    `cmd:"" help:"Say where requests wait for their turn, and for what."`
	CA      caCmd      `cmd:"" help:"Show or export the CA."`
	Config  configCmd  `cmd:"" help:"Check or print the configuration."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

const description = "heed is a forward HTTP(S) proxy that makes any crawler heed robots.txt.\n\n" +
	"Start with: heed serve, or: heed run -- CMD"

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Main runs the command line args, without the program's name, on the process's
// standard streams and returns the exit status.
func Main(args []string) int {
	return run(args, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
}

// run is Main on given streams.
func run(args []string, std streams) (code int) {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	// Kong has no other way to stop after --help than its Exit.
	defer func() {
		if r := recover(); r != nil {
			helped, ok := r.(status)
			if !ok {
				panic(r)
			}
			code = int(helped)
		}
	}()
	parser, err := kong.New(&grammar{},
		kong.Name("heed"), kong.Description(description),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { panic(status(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		panic(err) // the grammar above is wrong
	}
	command, err := parser.Parse(args)
	if err != nil {
		return report(std.err, usage(args, err))
	}
	return report(std.err, command.Run(std))
}

// status is the exit status of a command that has nothing more to say.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// failure is an error with an exit status and with what to do about it.
type failure struct {
	err  error
	code int    // 0 means 1
	hint string // "" means that err says it already, or that hintFor knows
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failing returns err with another exit status, unless it is one itself.
func failing(err error, code int) error {
	var s status
	if err == nil || errors.As(err, &s) {
		return err
	}
	f := &failure{err: err}
	errors.As(err, &f)
	return &failure{err: err, code: code, hint: f.hint}
}

// usage is the failure of a command line that cannot be read.
func usage(args []string, err error) error {
	command, code := "heed", 2
	if known := []string{"serve", "run", "env", "check", "lint", "replay", "health", "cache", "pace", "ca", "config", "version"}; len(args) > 0 {
		for _, name := range known {
			if args[0] == name {
				command += " " + name
			}
		}
	}
	if command == "heed run" {
		code = runFault
	}
	return &failure{err: err, code: code, hint: command + " --help shows what can be given"}
}

// report writes an error for people and returns the exit status it stands for.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	var s status
	if errors.As(err, &s) {
		return int(s)
	}
	f := &failure{err: err}
	errors.As(err, &f)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(w, "heed: %s\n", line)
	}
	hint := f.hint
	if hint == "" {
		hint = hintFor(err)
	}
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
	return max(f.code, 1)
}
