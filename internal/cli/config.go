package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"heed/internal/config"
)

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Say what is wrong with the configuration, without starting anything."`
	Print configPrintCmd `cmd:"" help:"Print the configuration in force, every key, as YAML."`
}

// configFlags are those of heed serve: what is checked is what would run.
type configFlags struct {
	fileFlag
	listenFlag
	adminFlag
	clientFlag
	stateFlag
	modeFlag
	upstreamFlags
	logFlags
}

type configCheckCmd struct{ configFlags }

// Help is the end of heed config check --help.
func (c *configCheckCmd) Help() string {
	return `Flags and HEED_ variables count, as they do for heed serve. Overrides are listed; one that has expired is warned of and is no fault, and so is what is odd about clients.

Exit status: 0 nothing is wrong, 1 something is, 2 a command line that cannot be read.`
}

func (c *configCheckCmd) Run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	name := c.Config
	if name == "" {
		name = "the configuration (no file was given)"
	}
	now, found := time.Now(), "nothing is wrong"
	if n := warn(std.err, cfg, now); n > 0 {
		found = fmt.Sprintf("no faults, warnings: %d", n)
	}
	if _, err := fmt.Fprintf(std.out, "%s: %s\n", name, found); err != nil {
		return err
	}
	return printOverrides(std.out, cfg.Overrides, now)
}

// warn says what in a configuration is no fault but cannot be meant, and how
// much there is of that.
func warn(w io.Writer, cfg config.Config, now time.Time) int {
	all := cfg.Warnings(now)
	for _, text := range all {
		fmt.Fprintf(w, "heed: warning: %s\n", text)
	}
	return len(all)
}

// printOverrides lists the overrides, a line each: what they are for, what is
// done, up to when, by whom and why.
func printOverrides(w io.Writer, all []config.Override, now time.Time) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(w, "overrides")
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, o := range all {
		until := "for ever"
		switch {
		case o.Expired(now):
			until = "expired " + o.Expires.String()
		case o.Expires != 0:
			until = "until " + o.Expires.String()
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", o.For(), o.Action, until, o.Owner, o.Reason)
	}
	return table.Flush()
}

type configPrintCmd struct{ configFlags }

// Help is the end of heed config print --help.
func (c *configPrintCmd) Help() string {
	return `A flag goes before a HEED_ variable, a variable before the file, the file before the default. Credentials are left out.`
}

func (c *configPrintCmd) Run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	return cfg.Print(std.out)
}
