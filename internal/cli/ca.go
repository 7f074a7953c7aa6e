package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"

	"heed/internal/ca"
)

type caCmd struct {
	Show   caShowCmd   `cmd:"" help:"Say which CA heed has and where."`
	Export caExportCmd `cmd:"" help:"Write the CA's certificate, never its key, to standard output."`
}

type caShowCmd struct {
	fileFlag
	stateFlag
	JSON bool `help:"Print JSON."`
}

type caExportCmd struct {
	fileFlag
	stateFlag
	Bundle bool `xor:"form" help:"With the system's roots, for programs that replace theirs by the file."`
	DER    bool `name:"der" xor:"form" help:"As DER, for devices that want .crt or .cer."`
}

// Help is the end of heed ca export --help.
func (c *caExportCmd) Help() string {
	return `PEM unless --der is given. For example: heed ca export > heed-ca.pem

Exit status: 0 written, 1 a fault (no CA yet, for one), 2 a command line that cannot be read.`
}

// caDir is where in a state folder the CA is kept.
func caDir(stateDir string) string { return filepath.Join(stateDir, "ca") }

func (c *caShowCmd) Run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	authority, err := loadCA(cfg.StateDir)
	if err != nil {
		return err
	}
	cert := authority.Certificate()
	shown := struct {
		Subject     string    `json:"subject"`
		Fingerprint string    `json:"sha256"`
		NotBefore   time.Time `json:"not_before"`
		NotAfter    time.Time `json:"not_after"`
		File        string    `json:"file"`
	}{cert.Subject.CommonName, authority.Fingerprint(), cert.NotBefore.UTC(), cert.NotAfter.UTC(), authority.CertFile()}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(shown)
	}
	_, err = fmt.Fprintf(std.out, "%s\n  SHA-256  %s\n  valid    %s to %s\n  file     %s\n",
		shown.Subject, shown.Fingerprint, shown.NotBefore.Format(time.DateOnly), shown.NotAfter.Format(time.DateOnly), shown.File)
	return err
}

func (c *caExportCmd) Run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	authority, err := loadCA(cfg.StateDir)
	if err != nil {
		return err
	}
	text := authority.PEM()
	switch {
	case c.DER:
		text = authority.DER()
	case c.Bundle:
		if text, err = ca.Bundle(authority, os.Getenv("SSL_CERT_FILE")); err != nil {
			return err
		}
	}
	if _, err := std.out.Write(text); err != nil {
		return fmt.Errorf("writing the certificate: %w", err)
	}
	return nil
}
