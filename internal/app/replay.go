package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"

	"heed/fetch"
	"heed/internal/agent"
	"heed/internal/config"
	"heed/internal/origin"
	"heed/internal/replay"
	"heed/internal/store"
	"heed/policy"
)

// NewReplay returns what a configuration has of what replaying a log tries:
// overrides, modes, and clients, of which passwords do not matter, but who has one
// in the file alone: the address does not say who that is. Its Robots are the
// caller's to set.
func NewReplay(c config.Config) (replay.Config, error) {
	overrides, err := NewOverrides(c)
	if err != nil {
		return replay.Config{}, err
	}
	modes, err := NewModes(c)
	if err != nil {
		return replay.Config{}, err
	}
	filed, err := c.Clients.Credentials()
	if err != nil {
		return replay.Config{}, fmt.Errorf("reading clients.htpasswd: %w", err)
	}
	named := map[string]*agent.Client{}
	for _, l := range filed {
		named[l.Name] = &agent.Client{Name: l.Name}
	}
	var all []agent.Known
	for _, n := range c.Clients.Named {
		named[n.Name] = clientOf(n, nil)
		all = append(all, agent.Known{Client: named[n.Name], Addresses: n.Addresses})
	}
	return replay.Config{
		Configured: true, Overrides: overrides, Reports: modes.Reports,
		Named: named, At: agent.NewClients(all).At,
	}, nil
}

// NewReading returns how a configuration has robots.txt files read, or a dialect
// alone, if it is another than the default.
func NewReading(c config.Config, d policy.Dialect) fetch.Reading {
	return fetch.Reading{Limit: int(c.Robots.Limit), Cautious: c.Policy.Cautious, Strict: c.Policy.StrictPaths, Refusals: c.Robots.Refused == config.Disallowed, Dialect: d}
}

// RobotsFile is one robots.txt for all origins.
func RobotsFile(r fetch.Reading, path string) (replay.Robots, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading robots.txt: %w", err)
	}
	body, err := readRobots(r, f)
	if err != nil {
		return nil, err
	}
	s := r.Snapshot(path, fetch.Record{Body: body})
	return robotsFunc(func(context.Context, origin.Origin) (*policy.Snapshot, error) { return &s, nil }), nil
}

// RobotsFolder is a robots.txt for each origin in a folder: HOST_PORT.txt, or
// HOST.txt for all of a host's, with a hyphen in place of each colon of an address.
func RobotsFolder(r fetch.Reading, path string) (replay.Robots, error) {
	folder, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("reading robots.txt files: %w", err)
	}
	return robotsFunc(func(_ context.Context, o origin.Origin) (*policy.Snapshot, error) {
		host := strings.ReplaceAll(o.Host, ":", "-")
		for _, name := range [...]string{host + "_" + o.Port + ".txt", host + ".txt"} {
			f, err := folder.Open(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("its robots.txt cannot be read: %w", err)
			}
			body, err := readRobots(r, f)
			if err != nil {
				return nil, err
			}
			s := r.Snapshot(o.RobotsURL(), fetch.Record{Body: body})
			return &s, nil
		}
		return nil, fmt.Errorf("there is no file for it (%s.txt)", host)
	}), nil
}

// readRobots reads one octet more than counts, and closes the file.
func readRobots(r fetch.Reading, f *os.File) ([]byte, error) {
	defer func() { _ = f.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(f, int64(max(r.Limit, policy.DefaultLimit))+1))
	if err != nil {
		return nil, fmt.Errorf("reading robots.txt: %w", err)
	}
	return body, nil
}

// lister lists what is kept of origins, as admin.Cache does, and store.Reader.
type lister interface {
	List(ctx context.Context, p store.Pattern, bodies bool) iter.Seq2[store.Entry, error]
}

// RobotsKept is what heed keeps of robots.txt files, whatever its age.
func RobotsKept(r fetch.Reading, kept lister) replay.Robots {
	return robotsFunc(func(ctx context.Context, o origin.Origin) (*policy.Snapshot, error) {
		if o == (origin.Origin{}) {
			return nil, errNotKept
		}
		for e, err := range kept.List(ctx, store.Pattern{Scheme: o.Scheme, Host: o.Host, Port: o.Port}, true) {
			if err != nil {
				return nil, fmt.Errorf("what is kept cannot be read: %w", err)
			}
			s := r.Snapshot(o.RobotsURL(), recordOf(e))
			return &s, nil
		}
		return nil, errNotKept
	})
}

var errNotKept = errors.New("its robots.txt is not kept")

func recordOf(e store.Entry) fetch.Record {
	r := fetch.Record{
		Access: policy.Unreachable, Status: e.Status, Hops: e.Hops, Body: e.Body, Charset: e.Charset, Fetched: e.Fetched,
		FreshUntil: e.FreshUntil, Checked: e.Checked, Attempts: e.Attempts, Err: e.Error,
	}
	for _, access := range [...]policy.Access{policy.Successful, policy.Unavailable} {
		if e.Access == access.String() {
			r.Access = access
		}
	}
	return r
}

// RobotsFetched is what origins say now; the fetcher keeps the bodies
// (NewBodyFetcher), and reads them as the configuration has it.
func RobotsFetched(r fetch.Reading, f *fetch.Fetcher) replay.Robots {
	return robotsFunc(func(ctx context.Context, o origin.Origin) (*policy.Snapshot, error) {
		if o == (origin.Origin{}) {
			return nil, errNotKept
		}
		s, err := f.Snapshot(ctx, o)
		if err != nil {
			return nil, err
		}
		if s.Rules != nil && r.Dialect != policy.RFC9309 {
			s.Rules = policy.Compile(s.Body, policy.Options{Limit: r.Limit, Dialect: r.Dialect, Decoded: s.UTF8})
		}
		return &s, nil
	})
}

type robotsFunc func(context.Context, origin.Origin) (*policy.Snapshot, error)

// Snapshot is replay.Robots's.
func (f robotsFunc) Snapshot(ctx context.Context, o origin.Origin) (*policy.Snapshot, error) {
	return f(ctx, o)
}
