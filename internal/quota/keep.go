package quota

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"heed/internal/wholefile"
)

// DefaultName is the file's in the state directory.
const DefaultName = "quota.json"

// saveEvery is how often the counts are written while they change.
const saveEvery = time.Minute

// file is what a Keeper knows of its file.
type file struct {
	changes uint64                 // of all accounts, that the file has
	fault   atomic.Pointer[string] // why it cannot be written; nil: it can
}

// File returns the path of the counts that outlive the process, "" where none do.
func (k *Keeper) File() string {
	if k == nil {
		return ""
	}
	return k.config.File
}

// Fault says why the counts cannot be written at the moment, "" when they can.
func (k *Keeper) Fault() string {
	if k == nil {
		return ""
	}
	if why := k.file.fault.Load(); why != nil {
		return *why
	}
	return ""
}

// Load takes over what the file says. Call it before the first Take. One that is
// damaged is set aside, and the day's quotas count as used up: see the package's
// comment. One that cannot be read at all is an error, since heed could not write
// it either.
func (k *Keeper) Load() error {
	if k == nil || k.config.File == "" || len(k.accounts) == 0 {
		return nil
	}
	now := time.Now()
	c, err := read(k.config.File)
	var d *damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &d):
		return k.begin(d, now)
	case err != nil:
		return fmt.Errorf("reading the counts of quotas: %w; let heed's user read and write it, or remove it so that every client begins at zero", err)
	}
	at := momentOf(now)
	for _, r := range c.Clients {
		if a := k.Account(r.Name); a != nil {
			a.recall(r, c.Saved.UnixNano(), at)
		}
	}
	return nil
}

// begin goes on without a damaged file. What takes its place is written at once:
// else a restart would find none, and everything left.
func (k *Keeper) begin(d *damage, now time.Time) error {
	path := k.config.File
	aside, err := wholefile.SetAside(path, nil, now)
	if err != nil {
		return fmt.Errorf("setting the damaged %s aside (%w): %w", path, d, err)
	}
	for _, a := range k.accounts {
		a.lose(momentOf(now))
	}
	k.config.Log.Error().Str("file", path).Str("set_aside", aside).Str("cause", d.Error()).
		Str("hint", "clients with a quota for the day are refused until 00:00 UTC, since nobody knows what they used; to let them begin at zero, stop heed, remove "+path+", and start it").
		Msg("the counts of quotas are damaged")
	if err := k.write(now); err != nil {
		return fmt.Errorf("writing the counts of quotas: %w", err)
	}
	return nil
}

// Run writes the counts every minute in which they changed, and when ctx ends.
// What fails is logged, and tried again a minute later: the counts go on in
// memory.
func (k *Keeper) Run(ctx context.Context) error {
	if k == nil || k.config.File == "" || len(k.accounts) == 0 {
		return nil
	}
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			k.save(time.Now())
			return nil
		case <-ticker.C:
			k.save(time.Now())
		}
	}
}

// save is write, and says when it begins to fail and when it no longer does.
func (k *Keeper) save(now time.Time) {
	err := k.write(now)
	switch failing := k.Fault() != ""; {
	case err != nil:
		why := err.Error()
		k.file.fault.Store(&why)
		if !failing {
			k.config.Log.Error().Err(err).Str("file", k.config.File).
				Str("hint", "until it can be written a restart forgets what clients have used since").
				Msg("the counts of quotas cannot be written")
		}
	case failing:
		k.file.fault.Store(nil)
		k.config.Log.Info().Str("file", k.config.File).Msg("the counts of quotas are written again")
	}
}

// write puts the counts into the file, unless it has them.
func (k *Keeper) write(now time.Time) error {
	c, changes := counts{Saved: now.UTC().Round(0)}, uint64(0)
	for _, a := range k.accounts {
		r, n := a.record(momentOf(now))
		c.Clients = append(c.Clients, r)
		changes += n
	}
	if changes == k.file.changes {
		return nil
	}
	text, err := c.encode()
	if err == nil {
		err = wholefile.Put(k.config.File, text, 0o600, os.Rename)
	}
	if err == nil {
		k.file.changes = changes
	}
	return err
}
