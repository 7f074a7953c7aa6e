package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"heed/internal/app"
	"heed/internal/audit"
	"heed/internal/config"
	"heed/internal/logfile"
)

// Exit statuses of heed run that are not the command's, as env(1), nohup(1)
// and shells have them.
const (
	runFault         = 125 // heed itself failed
	runNotExecutable = 126
	runNotFound      = 127
	runSignalled     = 128 // and the number of the signal
)

type runCmd struct {
	fileFlag
	stateFlag
	modeFlag
	upstreamFlags
	paceFlags
	AdminListen string   `placeholder:"ADDR" help:"HOST:PORT of /metrics, /pace and /healthz (off)."`
	Log         string   `placeholder:"FILE" help:"Append heed's log, a JSON line an exchange, to FILE."`
	LogLevel    string   `placeholder:"LEVEL" env:"HEED_LOG_LEVEL" help:"debug, info, warn or error (info); for --log."`
	Command     []string `arg:"" passthrough:"partial" name:"cmd" help:"The command and its arguments, after --."`
}

// Help is the end of heed run --help.
func (c *runCmd) Help() string {
	return `Write it as: heed run [flags] -- CMD ARGS...

CMD gets a proxy on a free port of 127.0.0.1 by the usual variables, files with the system's roots and heed's CA, and heed's own standard input, output and error. Signals are passed on to it. When it has ended, heed says on standard error what was forwarded and what denied.

Origins are asked no faster than they want (Crawl-delay and its like). A request waits for its turn for --hold, 3 s if nobody says; Scrapy's and Wget's for minutes; one that would wait for longer is answered 429 with Retry-After. While one waits for more than a second standard error tells, in a line at the bottom of a terminal, else in one line now and then.

Not every program reads these variables: Node before 22.21 and programs with a proxy of their own go past heed. NO_PROXY is left as it is.

Exit status: CMD's own, 128 and the number of the signal that ended it, 127 if it is not found, 126 if it cannot be executed, 125 if heed itself fails.`
}

func (c *runCmd) Run(command *kong.Context, std streams) error {
	err := c.run(command, std)
	var s status
	var f *failure
	switch {
	case err == nil || errors.As(err, &s):
		return err
	case errors.As(err, &f):
		return &failure{err: err, code: max(f.code, runFault), hint: f.hint}
	}
	return &failure{err: err, code: runFault}
}

func (c *runCmd) run(command *kong.Context, std streams) error {
	argv := c.Command
	if argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return &failure{err: errors.New("no command to run"), hint: "write it after two dashes: heed run -- curl https://example.com/"}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return cannotRun(argv[0], err)
	}
	fixed := []config.Setting{
		{Key: "listen", Values: []string{"127.0.0.1:0"}, Source: "heed run"},
		{Key: "timeouts.shutdown", Values: []string{"1s"}, Source: "heed run"}, // CMD is gone: nobody waits
	}
	if !onCommandLine(command, "admin-listen") {
		fixed = append(fixed, config.Setting{Key: "admin_listen", Values: []string{config.Off}, Source: "heed run"})
	}
	cfg, err := load(command, fixed...)
	if err != nil {
		return err
	}
	warn(std.err, cfg, time.Now())
	if note := app.ReportNote(cfg); note != "" {
		fmt.Fprintf(std.err, "heed: report mode: %s\n", strings.TrimSuffix(note, "."))
	}
	options := app.Options{Log: zerolog.Nop(), Version: thisBuild().Version, Private: true}
	if c.Log != "" {
		var end func()
		if options.Log, options.Lines, end, err = runLog(c.Log, cfg.Log, std.err); err != nil {
			return err
		}
		defer end()
	}
	applyLimits(options.Log, cfg)
	return runThrough(cfg, options, path, argv, std.err)
}

// runLog opens the log of a run, which is a file: standard error is the
// command's. There it says, once, that the file cannot be written.
func runLog(path string, c config.Log, stderr io.Writer) (zerolog.Logger, *logfile.Writer, func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return zerolog.Nop(), nil, nil, &failure{err: fmt.Errorf("opening the log: %w", err), hint: "name a file that you can write with --log"}
	}
	c.Format = "json"
	log, lines, err := newLogger(f, c, func(err error) {
		fmt.Fprintf(stderr, "heed: writing the log: %v; the command goes on, and its requests are missing there\n", err)
	})
	if err != nil {
		_ = f.Close() // nothing was written
		return zerolog.Nop(), nil, nil, err
	}
	return log, lines, func() { _ = errors.Join(lines.Close(), f.Close()) }, nil // it was told when it failed first
}

// runThrough starts a heed, runs the command through it, ends heed and says
// what happened.
func runThrough(cfg config.Config, options app.Options, path string, argv []string, stderr io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "heed-run-")
	if err != nil {
		return fmt.Errorf("making a folder for the command's certificates: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	// From here on signals are the command's: none may end heed before it.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, notIgnored(forwardedSignals)...)
	defer signal.Stop(signals)

	summary := audit.NewSummary()
	options.Record = summary.Record
	a, err := app.Start(ctx, cfg, options)
	if err != nil {
		return err
	}
	var serveErr error
	served := make(chan struct{}) // closed when serveErr is there
	go func() { serveErr = a.Run(ctx); close(served) }()

	endTelling := tellWaits(stderr, a.Pace)
	code, runErr := runChild(a, dir, path, argv, signals, served)
	endTelling()
	stop()
	<-served
	if err := errors.Join(runErr, serveErr); err != nil {
		return err
	}
	if _, err := summary.WriteTo(stderr); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return status(code)
}

// runChild runs the command to its end and returns its exit status. If heed
// stops serving before that, the command is told to end: alone it would get
// nothing.
func runChild(a *app.App, dir, path string, argv []string, signals <-chan os.Signal, served <-chan struct{}) (int, error) {
	files, err := writeTrust(dir, a.CA(), "http://"+a.ProxyAddr())
	if err != nil {
		return 0, err
	}
	child := &exec.Cmd{
		Path: path, Args: argv,
		Env:   overlay(os.Environ(), clientVariables(a.ProxyAddr(), files)),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if err := child.Start(); err != nil {
		return 0, cannotRun(argv[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	var broken error
	for {
		select {
		case s := <-signals:
			if !alreadySentToChild(s) {
				_ = child.Process.Signal(s) // it may have ended just now
			}
		case <-served:
			_ = child.Process.Signal(syscall.SIGTERM) // as above
			served, broken = nil, errors.New("heed stopped serving before the command had ended")
		case err := <-ended:
			if broken != nil {
				return 0, broken
			}
			return exitStatus(err)
		}
	}
}

// exitStatus returns the status that a shell would return for the command.
func exitStatus(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, fmt.Errorf("waiting for the command: %w", err)
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return runSignalled + int(w.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// cannotRun says why a command did not start.
func cannotRun(name string, err error) error {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	f := &failure{err: fmt.Errorf("running %s: %w", name, err), code: runNotExecutable}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		f.code, f.hint = runNotFound, "check its name and the PATH"
	case errors.Is(err, exec.ErrDot):
		f.hint = "it stands in the current folder; write ./" + name
	case errors.Is(err, fs.ErrPermission):
		f.hint = "make it executable: chmod +x"
	default:
		f.hint = "it is not a program for this machine; a script begins with #! and its interpreter"
	}
	return f
}

// notIgnored leaves out signals that heed was started to ignore (nohup, a
// background job of a script): the command inherits that.
func notIgnored(all []os.Signal) (wanted []os.Signal) {
	for _, s := range all {
		if !signal.Ignored(s) {
			wanted = append(wanted, s)
		}
	}
	return wanted
}
