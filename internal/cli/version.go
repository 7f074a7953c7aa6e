package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set when heed is built for release:
// -ldflags '-X heed/internal/cli.version=1.2.3'.
var version string

type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

// build is what is known of the binary. Empty where the build did not say.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (c *versionCmd) Run(std streams) error {
	b := thisBuild()
	if c.JSON {
		return json.NewEncoder(std.out).Encode(b)
	}
	_, err := fmt.Fprintf(std.out, "heed %s (%s, %s)\n", b.Version, b.Go, b.Platform)
	return err
}

// thisBuild reads what the linker was told, else what the Go tool recorded.
func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.time":
				b.Time = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}
