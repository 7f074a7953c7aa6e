package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"heed/internal/admin"
	"heed/internal/app"
	"heed/internal/store"
)

type cacheCmd struct {
	Ls     cacheLsCmd     `cmd:"" help:"List the origins whose robots.txt is kept."`
	Show   cacheShowCmd   `cmd:"" help:"Say all that is kept of an origin, or print its robots.txt."`
	Forget cacheForgetCmd `cmd:"" help:"Drop what is kept of origins: it is fetched anew when it is needed."`
	Stats  cacheStatsCmd  `cmd:"" help:"Count what is kept."`
}

// cacheFlags say where to look.
type cacheFlags struct {
	fileFlag
	stateFlag
	File string `placeholder:"FILE" help:"Look into FILE itself, as of heed run, or set aside."`
}

// patternHelp is how origins are written.
const patternHelp = `Write origins as
  example.com            this host, by http and https, on every port
  example.com:8080       on that port alone
  https://example.com/x  one origin; the path does not count
  '*.example.com'        every host below
  '*'                    all

It asks the heed that serves with this state directory, and reads the file where none does.`

// origins are the patterns of a command line.
type origins []string

// parse reads them.
func (o origins) parse() ([]store.Pattern, error) {
	var all []store.Pattern
	for _, text := range o {
		p, err := store.ParsePattern(text)
		if err != nil {
			return nil, &failure{err: err, code: 2}
		}
		all = append(all, p)
	}
	return all, nil
}

// with calls do with the cache that the flags lead to, until it is done or a
// signal ends it.
func (c *cacheFlags) with(command *kong.Context, do func(context.Context, admin.Cache) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.File != "" {
		if err := isThere(c.File); err != nil {
			return err
		}
		return cacheFault(do(ctx, fileCache{path: c.File}), "")
	}
	kept, socket, err := c.own(ctx, command)
	if err != nil {
		return err
	}
	return cacheFault(do(ctx, kept), socket)
}

// isThere says of a file that is not what to do.
func isThere(path string) error {
	if _, err := os.Stat(path); err != nil {
		return &failure{err: fmt.Errorf("looking at the cache file: %w", err), hint: "name a file that is there, or leave it out for heed's own"}
	}
	return nil
}

// own returns the cache of the heed that serves, or the file where none does, and
// then the socket on which none answers.
func (c *cacheFlags) own(ctx context.Context, command *kong.Context) (kept admin.Cache, socket string, err error) {
	cfg, err := load(command)
	if err != nil {
		return nil, "", err
	}
	socket = app.Socket(cfg.StateDir)
	running, err := admin.Dial(ctx, socket)
	if err == nil {
		return running, "", nil
	}
	if !errors.Is(err, admin.ErrNoneRuns) {
		return nil, "", &failure{err: err, hint: "run it as the user that heed runs as"}
	}
	path := app.CacheFile(cfg)
	if path == "" {
		return nil, "", &failure{err: errors.New("nothing is kept: cache.file is off"), hint: "leave cache.file out, or name a file there"}
	}
	return fileCache{path: path}, socket, nil
}

// cacheFault says what to do about a file that another process has.
func cacheFault(err error, socket string) error {
	switch {
	case !errors.Is(err, store.ErrInUse):
		return err
	case socket == "":
		return &failure{err: err, hint: "wait until the heed that has it ends; without --file, the heed that serves is asked"}
	}
	return &failure{err: err, hint: "no heed answers on " + socket + ": if one serves, give its --state-dir; else wait until the process ends"}
}

// fileCache is a cache that no heed has open.
type fileCache struct{ path string }

var _ admin.Cache = fileCache{}

func (f fileCache) reader() store.Reader { return store.Reader{Path: f.path} }

func (f fileCache) List(ctx context.Context, p store.Pattern, bodies bool) iter.Seq2[store.Entry, error] {
	return f.reader().List(ctx, p, bodies)
}

func (f fileCache) Stats(ctx context.Context) (store.Stats, error) { return f.reader().Stats(ctx) }

// Forget collects what is to go before it opens the file for writing: nobody
// else can have it then.
func (f fileCache) Forget(ctx context.Context, p store.Pattern) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var found []store.Entry
		for e, err := range f.List(ctx, p, false) {
			if err != nil {
				yield("", err)
				return
			}
			found = append(found, e)
		}
		if len(found) == 0 {
			return
		}
		file, err := store.Open(store.Config{Path: f.path})
		if err != nil {
			yield("", err)
			return
		}
		err = func() error {
			for o, err := range store.ForgetAll(ctx, entries(found), file.Forget) {
				if err != nil {
					return err
				}
				if !yield(o, nil) {
					return nil
				}
			}
			return nil
		}()
		if err = errors.Join(err, file.Close()); err != nil {
			yield("", err)
		}
	}
}

func entries(all []store.Entry) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}
