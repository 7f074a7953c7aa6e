package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"heed/internal/app"
)

type serveCmd struct {
	fileFlag
	listenFlag
	adminFlag
	clientFlag
	stateFlag
	modeFlag
	upstreamFlags
	paceFlags
	logFlags
}

// Help is the end of heed serve --help.
func (c *serveCmd) Help() string {
	return `The first start makes heed's CA. SIGINT or SIGTERM ends heed once the exchanges under way are done; a second one ends it at once.

Exit status: 0 ended by a signal, 1 a fault, 2 a command line that cannot be read.`
}

func (c *serveCmd) Run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	// To write to a pipe that nobody reads any more would end the process: heed
	// goes on without its log.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	log, lines, err := newLogger(std.err, cfg.Log, nil) // the log is where a fault would be told
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }() // as above
	applyLimits(log, cfg)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal finds its default: the end

	a, err := app.Start(ctx, cfg, app.Options{Log: log, Lines: lines, Version: thisBuild().Version})
	if err != nil {
		return err
	}
	w := welcome{
		version: thisBuild().Version,
		proxy:   a.ProxyAddr(), admin: a.AdminAddr(),
		ca: a.CA().CertFile(), fingerprint: a.CA().Fingerprint(),
		report:  app.ReportNote(cfg),
		program: program(os.Args[0]),
		env:     envCommand(command, cfg.Listen, a.ProxyAddr()),
	}
	if forPeople(std.err, cfg.Log) {
		lines.Flush() // what was said before
		w.print(std.err)
	} else {
		w.log(log)
	}
	if err := a.Run(ctx); err != nil {
		return err
	}
	log.Info().Msg("ended")
	return nil
}

// welcome is what heed says once it serves.
type welcome struct {
	version, proxy, admin string // admin is "" when it is off
	ca, fingerprint       string
	report                string // where the mode is report; "" where it is nowhere
	program               string // how to call heed
	env                   string // the heed env command that fits
}

// next says what to do now: the thing, and what it does.
func (w welcome) next() [][2]string {
	return [][2]string{
		{`eval "$(` + w.env + `)"`, "sends this shell's programs through heed"},
		{w.program + " run -- CMD", "runs one command through a heed of its own"},
		{"http://heed.internal/", "heed's own pages, seen through the proxy"},
	}
}

// print writes it for people. There is nowhere to say that this failed.
func (w welcome) print(out io.Writer) {
	admin := "off"
	if w.admin != "" {
		admin = "http://" + w.admin + "  (/metrics, /pace, /healthz, /readyz, /version)"
	}
	fmt.Fprintf(out, "heed %s is ready\n", w.version)
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(table, "  proxy\thttp://%s\n  admin\t%s\n  CA\t%s\n\tSHA-256 %s\n", w.proxy, admin, w.ca, w.fingerprint)
	if w.report != "" {
		fmt.Fprintf(table, "  report\t%s\n", w.report)
	}
	_ = table.Flush()
	fmt.Fprintln(out, "next")
	for _, do := range w.next() {
		fmt.Fprintf(table, "  %s\t%s\n", do[0], do[1])
	}
	_ = table.Flush()
}

// log writes it as one line for machines. It has no level that log.level could
// leave out: it is what says that heed is there.
func (w welcome) log(log zerolog.Logger) {
	var next []string
	for _, do := range w.next() {
		next = append(next, do[0]+"  "+do[1])
	}
	line := log.Log().Str("level", "info").Str("version", w.version).Str("proxy", w.proxy).Str("admin", w.admin).
		Str("ca", w.ca).Str("ca_sha256", w.fingerprint)
	if w.report != "" {
		line = line.Str("report", w.report)
	}
	line.Strs("next", next).Msg("ready")
}

// envCommand is the heed env that finds a heed started by this command line.
// A free port that was asked for by 0 becomes the one that was found.
func envCommand(command *kong.Context, listen, proxy string) string {
	words := []string{program(os.Args[0]), "env"}
	for _, flag := range command.Flags() {
		if !onCommandLine(command, flag.Name) {
			continue
		}
		switch flag.Name {
		case "config", "state-dir":
			words = append(words, "--"+flag.Name, quoteUnlessPlain(command.FlagValue(flag).(string)))
		}
	}
	if onCommandLine(command, "listen") || strings.HasSuffix(listen, ":0") {
		words = append(words, "--listen", quoteUnlessPlain(proxy))
	}
	return strings.Join(words, " ")
}

// program returns what to type to call this heed again, from what was typed.
func program(arg0 string) string {
	switch {
	case strings.Contains(arg0, string(filepath.Separator)+"go-build"): // gone once go run has ended
		return "go run ."
	case strings.ContainsRune(arg0, filepath.Separator):
		return quoteUnlessPlain(arg0)
	}
	return "heed"
}
