package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"heed/internal/ca"
)

type envCmd struct {
	fileFlag
	listenFlag
	clientFlag
	stateFlag
	Shell string `enum:"sh,fish,powershell" default:"sh" help:"Write for sh (bash, zsh, dash), fish or powershell (sh)."`
}

// Help is the end of heed env --help.
func (c *envCmd) Help() string {
	return `sh:          eval "$(heed env)"
fish:        heed env --shell fish | source
powershell:  heed env --shell powershell | Out-String | Invoke-Expression

The files that the variables name (a bundle of the system's roots and heed's CA, the same as a Java trust store, and files for wget) are kept in the state folder.

Exit status: 0 printed, 1 a fault (no CA yet, for one), 2 a command line that cannot be read.`
}

func (c *envCmd) Run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	address, err := clientAddress(cfg.Listen)
	if err != nil {
		return err
	}
	authority, err := loadCA(cfg.StateDir)
	if err != nil {
		return err
	}
	dir := filepath.Join(cfg.StateDir, "clients")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of files for clients: %w", err)
	}
	files, err := writeTrust(dir, authority, "http://"+address)
	if err != nil {
		return err
	}
	for _, v := range clientVariables(address, files) {
		if _, err := fmt.Fprintln(std.out, assignment(c.Shell, v)); err != nil {
			return fmt.Errorf("printing the variables: %w", err)
		}
	}
	return nil
}

// clientAddress is where a client on this machine finds the proxy.
func clientAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("reading listen: %w", err)
	}
	switch {
	case strings.Trim(port, "0") == "":
		return "", &failure{
			err:  errors.New("listen has port 0, so the configuration does not say where heed is"),
			hint: "give the address that heed serve printed: heed env --listen 127.0.0.1:PORT",
		}
	case host == "" || host == "0.0.0.0" || host == "::": // the last takes IPv4 too
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// loadCA loads the CA of a state folder, and makes none.
func loadCA(stateDir string) (*ca.CA, error) {
	authority, err := ca.Load(caDir(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure{
			err:  fmt.Errorf("there is no CA in %s yet", caDir(stateDir)),
			hint: "heed serve makes it at its first start; name another folder with --state-dir",
		}
	}
	return authority, err
}

// assignment sets a variable in the language of a shell.
func assignment(shell string, v variable) string {
	switch shell {
	case "fish":
		return "set -gx " + v.name + " '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v.value) + "'"
	case "powershell":
		return "$env:" + v.name + " = '" + strings.ReplaceAll(v.value, "'", "''") + "'"
	}
	return "export " + v.name + "=" + quote(v.value)
}

// quote returns a text as one word of a POSIX shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// quoteUnlessPlain leaves a word that no shell would change as it is.
func quoteUnlessPlain(text string) string {
	special := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:,@%+=", c))
	}
	if text == "" || strings.ContainsFunc(text, special) {
		return quote(text)
	}
	return text
}
