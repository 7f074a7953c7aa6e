package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxFile is above any configuration, one of some 40,000 overrides included, and
// bounds what a wrong path (a log file, a device) can cost.
const maxFile = 8 << 20

// Setting is a value for one key from outside the file.
type Setting struct {
	Key    string   // full name, such as "robots.fresh_for"
	Values []string // one, or several where the key is a list; they replace what the file says
	Source string   // what a fault is reported under, such as "--listen"
}

// Load returns the defaults, overlaid by the file at path and then by the
// settings in their order, all checked. An empty path means no file. Relative
// paths in the file are taken from the file's own folder, those in settings
// from the working directory.
//
// The error names every fault found, a line each: file, line, key and value,
// and what to write instead. It panics if a setting has a key that does not
// exist or no value.
func Load(path string, settings ...Setting) (Config, error) {
	if path == "" {
		return parse("", nil, settings)
	}
	text, err := readFile(path)
	if err != nil {
		return Config{}, err
	}
	return parse(path, text, settings)
}

// Validate checks a configuration that was made by hand, as Load checks the
// ones it reads. The error names every fault, a line each.
func (c *Config) Validate() error {
	r := reader{config: c}
	r.validate()
	return errors.Join(r.faults...)
}

// parse is Load of a file whose text is given.
func parse(name string, text []byte, settings []Setting) (Config, error) {
	c := Default()
	r := reader{config: &c, name: name, sources: map[string]string{}}
	r.file(text)
	for _, s := range settings {
		r.set(s)
	}
	c.StateDir = r.beside("state_dir", c.StateDir)
	if c.Cache.File != Off {
		c.Cache.File = r.beside("cache.file", c.Cache.File)
	}
	c.Upstream.Roots = r.beside("upstream.roots", c.Upstream.Roots)
	c.Clients.Htpasswd = r.beside("clients.htpasswd", c.Clients.Htpasswd)
	r.besideOverrides()
	// A value that could not be read still has its default, so a further check
	// would speak of something nobody wrote.
	if r.faults == nil {
		r.validate()
	}
	if r.faults != nil {
		return Config{}, errors.Join(r.faults...)
	}
	return c, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading the configuration: %s is not a file", path)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("reading the configuration: %s has %d octets; a configuration has at most %d", path, info.Size(), maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return text, nil
}

// reader fills a Config and remembers where each value came from.
type reader struct {
	config  *Config
	name    string            // of the file
	sources map[string]string // key to where it was set: "heed.yaml:3", "--listen"
	faults  []error
}

// fault is the end of a sentence that begins with a value.
type fault string

func (f fault) Error() string { return string(f) }

// longest is more than any sound value needs; a fault shows no more of one.
const longest = 500

// blame records what is wrong with the value of a key, under the place it came
// from.
func (r *reader) blame(key, value string, err error) {
	var f fault
	if errors.As(err, &f) {
		value = redact(value)
		if len(value) > longest {
			value = value[:longest] + "…"
		}
		err = fmt.Errorf("%q %w", value, f)
	}
	source := r.sources[key]
	switch {
	case source == "":
		err = fmt.Errorf("%s: %w", key, err)
	case r.fromFile(key):
		err = fmt.Errorf("%s: %s: %w", source, key, err)
	default: // a flag's or variable's name says which key it is
		err = fmt.Errorf("%s: %w", source, err)
	}
	r.faults = append(r.faults, err)
}

// fromFile reports whether the file set the key.
func (r *reader) fromFile(key string) bool {
	source := r.sources[key]
	return source != "" && len(source) > len(r.name) && source[:len(r.name)+1] == r.name+":"
}

// beside returns the path that a key names, taken from the file's folder if
// the file says it.
func (r *reader) beside(key, path string) string {
	if path == "" || filepath.IsAbs(path) || !r.fromFile(key) {
		return path
	}
	return filepath.Join(filepath.Dir(r.name), path)
}
