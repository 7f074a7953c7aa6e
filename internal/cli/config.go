package cli

import (
	"fmt"

	"github.com/alecthomas/kong"
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
	upstreamFlags
	logFlags
}

type configCheckCmd struct{ configFlags }

// Help is the end of heed config check --help.
func (c *configCheckCmd) Help() string {
	return `Flags and HEED_ variables count, as they do for heed serve.

Exit status: 0 nothing is wrong, 1 something is, 2 a command line that cannot be read.`
}

func (c *configCheckCmd) Run(command *kong.Context, std streams) error {
	if _, err := load(command); err != nil {
		return err
	}
	name := c.Config
	if name == "" {
		name = "the configuration (no file was given)"
	}
	_, err := fmt.Fprintf(std.out, "%s: nothing is wrong\n", name)
	return err
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
