package cli

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"heed/internal/admin"
)

type cacheForgetCmd struct {
	cacheFlags
	Origins origins `arg:"" placeholder:"ORIGIN" help:"Which: https://example.com, example.com, '*.example.com'."`
}

// Help is the end of heed cache forget --help.
func (c *cacheForgetCmd) Help() string {
	return patternHelp + ` What is dropped goes from its memory too, and is printed, an origin a line.

Exit status: 0 nothing of it is kept any more, 1 a fault, 2 a command line that cannot be read.`
}

func (c *cacheForgetCmd) Run(command *kong.Context, std streams) error {
	patterns, err := c.Origins.parse()
	if err != nil {
		return err
	}
	return c.with(command, func(ctx context.Context, cache admin.Cache) error {
		for i, p := range patterns {
			dropped := 0
			for o, err := range cache.Forget(ctx, p) {
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(std.out, visible(o)); err != nil {
					return fmt.Errorf("writing what was dropped: %w", err)
				}
				dropped++
			}
			if dropped == 0 {
				fmt.Fprintf(std.err, "heed: nothing is kept of %s\n", visible(c.Origins[i]))
			}
		}
		return nil
	})
}
