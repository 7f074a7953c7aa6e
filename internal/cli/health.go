package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"heed/internal/config"
)

// healthCmd asks a heed that runs how it is: what a container's health check
// calls, where there is no other program.
type healthCmd struct {
	fileFlag
	adminFlag
	Timeout time.Duration `default:"4s" help:"How long to wait for an answer (${default})."`
}

// Help is the end of heed health --help.
func (c *healthCmd) Help() string {
	return `Exit status: 0 ready, 1 not ready or nobody answers, 2 a command line that cannot be read.`
}

func (c *healthCmd) Run(command *kong.Context, std streams) error {
	cfg, err := load(command)
	if err != nil {
		return err
	}
	if cfg.AdminListen == config.Off {
		return &failure{err: errors.New("asking for health: the admin listener is off"), hint: "give admin_listen an address"}
	}
	answer, err := c.ask("http://" + reachable(cfg.AdminListen) + "/readyz")
	if err != nil {
		return &failure{err: fmt.Errorf("asking for health: %w", err), hint: "is heed running, with this admin_listen?"}
	}
	_, err = fmt.Fprintln(std.out, answer)
	return err
}

// ask returns the body of a 200, and an error that holds the body otherwise.
func (c *healthCmd) ask(url string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	direct := &http.Client{Transport: &http.Transport{Proxy: nil}} // not through the proxy of the environment
	resp, err := direct.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	text := strings.TrimSpace(string(body))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return text, err
}

// reachable turns an address to listen on into one to connect to.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
