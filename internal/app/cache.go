package app

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"heed/internal/config"
	"heed/internal/metrics"
	"heed/internal/origin"
	"heed/internal/store"
)

// CacheFile returns where the robots.txt files are kept that outlive heed, ""
// if none are.
func CacheFile(c config.Config) string {
	switch c.Cache.File {
	case config.Off:
		return ""
	case "":
		return filepath.Join(c.StateDir, store.DefaultName)
	}
	return c.Cache.File
}

// privateFile returns the file of a heed that runs for one command, beside that
// of the heed that serves: a file can be one's only, and each should find what
// its own kind left.
func privateFile(path string) string {
	end := filepath.Ext(path)
	return strings.TrimSuffix(path, end) + "-run" + end
}

// openStore opens the cache file. nil if there is none, and where another has
// the file of a heed for one command: that goes on without.
func openStore(c config.Config, o Options) (*store.File, error) {
	path := CacheFile(c)
	if path == "" {
		return nil, nil
	}
	if o.Private {
		path = privateFile(path)
	}
	f, err := store.Open(store.Config{Path: path, Log: o.Log})
	if o.Private && errors.Is(err, store.ErrInUse) {
		o.Log.Info().Err(err).Msg("going on without a cache file")
		return nil, nil
	}
	return f, err
}

// closeStore writes what waits.
func closeStore(f *store.File, log zerolog.Logger) {
	if f == nil {
		return
	}
	if err := f.Close(); err != nil {
		log.Warn().Err(err).Msg("what was learnt last is fetched again at the next start")
	}
}

func storeMetrics(f *store.File) func() metrics.Store {
	return func() metrics.Store {
		c := f.Counts()
		return metrics.Store{
			Saved: c.Saved, Lost: c.Lost, Damaged: c.Damaged, Faults: c.Faults, SetAside: c.SetAside,
			Waiting: c.Waiting, Octets: c.Octets, Degraded: c.Degraded != "",
		}
	}
}

// cache is the admin.Cache of a heed that runs: what is forgotten goes from its
// memory too.
type cache struct {
	*store.File
	forget func(context.Context, origin.Origin) error
}

// Forget is admin.Cache's.
func (c cache) Forget(ctx context.Context, p store.Pattern) iter.Seq2[string, error] {
	return store.ForgetAll(ctx, c.List(ctx, p, false), c.forget)
}
