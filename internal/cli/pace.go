package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"heed/internal/admin"
	"heed/internal/app"
	"heed/internal/config"
	"heed/internal/pace"
)

// paceCmd asks a heed that runs where requests wait.
type paceCmd struct {
	fileFlag
	stateFlag
	adminFlag
	Host  string `arg:"" optional:"" help:"Say all that is known of this host."`
	Limit int    `default:"20" help:"How many hosts are told, 1000 at most (${default})."`
	Watch bool   `help:"Go on, every second, until a signal."`
	JSON  bool   `name:"json" help:"Print JSON, a line each time."`
}

// Help is the end of heed pace --help.
func (c *paceCmd) Help() string {
	return `It lists hosts that are asked at the moment, or would be: first where a request has waited for the longest time. CAUSE is why the next one has to wait.

It asks the heed that serves with this state directory; where none does, the admin listener, which is how the heed of heed run --admin-listen ADDR is found.

Exit status: 0 told, 1 a fault, 2 a command line that cannot be read.`
}

func (c *paceCmd) Run(command *kong.Context, std streams) error {
	if c.Limit < 1 || c.Limit > admin.MostHosts {
		return &failure{err: fmt.Errorf("--limit is %d; write a number from 1 to %d", c.Limit, admin.MostHosts), code: 2}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	running, err := c.running(ctx, command)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		s, err := running.Pace(ctx, hostOf(c.Host), c.Limit)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return &failure{err: err, hint: "is heed running, with this state directory or this admin listener?"}
		}
		if err := c.print(std.out, s); err != nil || !c.Watch {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// running finds the heed that runs: where the command line says, by its socket,
// or by its admin listener.
func (c *paceCmd) running(ctx context.Context, command *kong.Context) (*admin.Client, error) {
	cfg, err := load(command)
	if err != nil {
		return nil, err
	}
	off := cfg.AdminListen == config.Off
	if onCommandLine(command, "admin-listen") && !off {
		return admin.At(reachable(cfg.AdminListen)), nil
	}
	socket := app.Socket(cfg.StateDir)
	running, err := admin.Dial(ctx, socket)
	switch {
	case err == nil:
		return running, nil
	case !errors.Is(err, admin.ErrNoneRuns):
		return nil, &failure{err: err, hint: "run it as the user that heed runs as"}
	case off:
		return nil, &failure{
			err:  fmt.Errorf("no heed answers on %s, and the admin listener is off", socket),
			hint: "start heed serve, or give the --state-dir of the one that runs; a heed run is asked by the address of its --admin-listen",
		}
	}
	return admin.At(reachable(cfg.AdminListen)), nil
}

// hostOf takes a URL for its host.
func hostOf(text string) string {
	if strings.Contains(text, "://") {
		if u, err := url.Parse(text); err == nil {
			return u.Host
		}
	}
	return text
}

func (c *paceCmd) print(w io.Writer, s pace.State) error {
	var err error
	switch {
	case c.JSON:
		err = json.NewEncoder(w).Encode(s)
	case c.Watch && isTerminal(w):
		_, err = io.WriteString(w, "\x1b[H\x1b[2J"+c.text(s)) // from the top, on an empty screen
	default:
		_, err = io.WriteString(w, c.text(s))
	}
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// text is the state as a table.
func (c *paceCmd) text(s pace.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s wait; hosts: %d asked at the moment, of which %d held; %d known\n", counted(s.Waiting, "request"), s.Active, s.Held, s.Known)
	if c.Host != "" && len(s.Hosts) == 0 {
		fmt.Fprintf(&b, "nothing is known of %s: it can be asked at any time\n", visible(c.Host))
	}
	if len(s.Hosts) == 0 {
		return b.String()
	}
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tUNDER WAY\tWAITING\tLONGEST\tINTERVAL\tCAUSE\tNEXT IN\tHELD FOR\tCLIENTS")
	for _, h := range s.Hosts {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", visible(h.Host), h.UnderWay, h.Waiting, orDash(h.Longest), orDash(h.Interval), h.Cause, orDash(h.Next), orDash(h.Held), clientsOf(h))
	}
	_ = table.Flush() // a strings.Builder takes all
	if c.Host == "" && s.Active > len(s.Hosts) {
		fmt.Fprintf(&b, "… and %s\n", counted(s.Active-len(s.Hosts), "host"))
	}
	return b.String()
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func orDash(s pace.Seconds) string {
	if s == 0 {
		return "-"
	}
	return inSeconds(time.Duration(s))
}

// inSeconds is a length of time in seconds, of which the tenths are told while
// they matter.
func inSeconds(d time.Duration) string {
	if d >= 10*time.Second {
		return strconv.Itoa(int(d.Round(time.Second).Seconds())) + " s"
	}
	return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// clientsOf lists whose requests wait at a host, and how many each.
func clientsOf(h pace.Host) string {
	var all []string
	for _, c := range h.Clients {
		all = append(all, fmt.Sprintf("%s %d", visible(c.Client), c.Waiting))
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}
