package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/alecthomas/kong"

	"heed/internal/config"
)

// Flags that more than one command has. Each that is a key of the
// configuration is in keyOfFlag.
type (
	fileFlag struct {
		Config string `placeholder:"FILE" env:"HEED_CONFIG" help:"Read the configuration from FILE."`
	}
	stateFlag struct {
		StateDir string `placeholder:"DIR" env:"HEED_STATE_DIR" help:"Keep the CA in DIR ($$STATE_DIRECTORY, else heed in the user's state folder)."`
	}
	listenFlag struct {
		Listen string `placeholder:"ADDR" env:"HEED_LISTEN" help:"HOST:PORT of the proxy (127.0.0.1:3128)."`
	}
	adminFlag struct {
		AdminListen string `placeholder:"ADDR" env:"HEED_ADMIN_LISTEN" help:"HOST:PORT of /metrics, /pace and /healthz, or off (127.0.0.1:3129)."`
	}
	clientFlag struct {
		AllowClient []string `placeholder:"CIDR" env:"HEED_ALLOW_CLIENT" help:"Let clients from this range use the proxy, beside loopback. Can be repeated, or a list with commas."`
	}
	upstreamFlags struct {
		Contact      string   `placeholder:"URL" env:"HEED_CONTACT" help:"URL or mailto: that leads to you, for the User-Agent of robots.txt fetches."`
		ConnectTo    []string `placeholder:"HOST1:PORT1:HOST2:PORT2" sep:"none" help:"Connect to HOST2:PORT2 in place of HOST1:PORT1; an empty HOST1 or PORT1 is any. Can be repeated."`
		AllowAddress []string `placeholder:"CIDR" sep:"none" help:"Allow connections to a special range, such as 127.0.0.0/8. Can be repeated."`
		Upstream     string   `name:"upstream-proxy" placeholder:"URL" env:"HEED_UPSTREAM_PROXY" help:"Connect through this proxy: http, https or socks5, or environment for that of HTTP_PROXY (none)."`
	}
	modeFlag struct {
		Mode string `placeholder:"MODE" env:"HEED_MODE" help:"enforce, or report: what robots.txt forbids is forwarded all the same, and marked (enforce)."`
	}
	paceFlags struct {
		Hold        string `placeholder:"DURATION" env:"HEED_HOLD" help:"How long a request waits for its turn before it is answered 429 (3s)."`
		MinInterval string `placeholder:"DURATION" env:"HEED_MIN_INTERVAL" help:"The least time between two requests to a host, whatever the site asks for (0s)."`
	}
	logFlags struct {
		LogLevel  string `placeholder:"LEVEL" env:"HEED_LOG_LEVEL" help:"debug, info, warn or error (info)."`
		LogFormat string `placeholder:"FORMAT" env:"HEED_LOG_FORMAT" help:"json, console, or auto: console on a terminal (auto)."`
	}
)

// keyOfFlag says which key of the configuration a flag sets.
var keyOfFlag = map[string]string{
	"state-dir":      "state_dir",
	"mode":           "mode",
	"listen":         "listen",
	"admin-listen":   "admin_listen",
	"allow-client":   "clients.allow",
	"contact":        "contact",
	"connect-to":     "connect_to",
	"allow-address":  "allow_address",
	"upstream-proxy": "upstream.proxy",
	"hold":           "pace.hold",
	"min-interval":   "pace.min_interval",
	"log-level":      "log.level",
	"log-format":     "log.format",
}

// load returns the configuration that a command line asks for. The fixed
// settings are what the command itself decides; they go before all others.
func load(command *kong.Context, fixed ...config.Setting) (config.Config, error) {
	cfg, err := config.Load(configFile(command), append(given(command), fixed...)...)
	if err != nil {
		return config.Config{}, &failure{err: err, hint: "config.example.yaml shows every key; heed config check finds faults without starting anything"}
	}
	if cfg.StateDir == "" {
		cfg.StateDir = defaultStateDir()
	}
	if cfg.StateDir, err = filepath.Abs(cfg.StateDir); err != nil {
		return config.Config{}, fmt.Errorf("finding the state folder: %w", err)
	}
	return cfg, nil
}

// given returns what flags and variables set. Kong reads the variables; an
// empty one counts as not set.
func given(command *kong.Context) (settings []config.Setting) {
	for _, flag := range command.Flags() {
		key, known := keyOfFlag[flag.Name]
		if !known {
			continue
		}
		source := "--" + flag.Name
		if !onCommandLine(command, flag.Name) {
			if len(flag.Envs) == 0 || os.Getenv(flag.Envs[0]) == "" {
				continue
			}
			source = flag.Envs[0]
		}
		values, isList := command.FlagValue(flag).([]string)
		if !isList {
			values = []string{command.FlagValue(flag).(string)}
		}
		settings = append(settings, config.Setting{Key: key, Values: values, Source: source})
	}
	return settings
}

func onCommandLine(command *kong.Context, name string) bool {
	for _, step := range command.Path {
		if step.Flag != nil && step.Flag.Name == name {
			return true
		}
	}
	return false
}

// configFile returns the value of --config, "" if there is none.
func configFile(command *kong.Context) string {
	for _, flag := range command.Flags() {
		if flag.Name == "config" {
			return command.FlagValue(flag).(string)
		}
	}
	return ""
}

// defaultStateDir is where the state is kept when nobody says: the folder that
// systemd made for the unit (StateDirectory=, the first where it names
// several), else heed's in the XDG state home.
func defaultStateDir() string {
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); dir != "" {
		return dir
	}
	return filepath.Join(xdg.StateHome, "heed")
}
