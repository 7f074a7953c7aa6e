package quota

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// record is what the file has of a client.
type record struct {
	Name     string `json:"name"`
	Day      date   `json:"day"`
	Requests int64  `json:"requests"`          // let in on that day
	Octets   int64  `json:"bytes"`             // carried on that day
	Minute   int64  `json:"minute"`            // requests of the minute before the file was written
	Unknown  bool   `json:"unknown,omitempty"` // what was used on that day was lost
}

// counts is what the file says, and what its sum is of.
type counts struct {
	Saved   time.Time `json:"saved"`
	Clients []record  `json:"clients"`
}

// sealed is the file: the sum shows an octet that changed, which may be a digit.
type sealed struct {
	Format int             `json:"format"`
	Counts json.RawMessage `json:"counts"`
	Sum    string          `json:"sha256"`
}

const (
	format   = 1
	mostFile = 64 << 20 // octets that are read; a client takes some hundred
)

// encode returns the file.
func (c counts) encode() ([]byte, error) {
	inner, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	outer, err := json.Marshal(sealed{format, inner, sumOf(inner)})
	return append(outer, '\n'), err
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// damage says of a file that it is not one that heed wrote.
type damage struct{ cause error }

func (d *damage) Error() string { return d.cause.Error() }
func (d *damage) Unwrap() error { return d.cause }

// read returns what a file says; fs.ErrNotExist where there is none, and a
// *damage where it cannot be believed.
func read(path string) (counts, error) {
	info, err := os.Stat(path)
	if err != nil {
		return counts{}, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		return counts{}, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return counts{}, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil {
		return counts{}, err
	}
	c, err := decode(text)
	if err != nil {
		return counts{}, &damage{err}
	}
	return c, nil
}

func decode(text []byte) (counts, error) {
	var outer sealed
	var c counts
	if len(text) > mostFile {
		return c, fmt.Errorf("it has more than %d octets", mostFile)
	}
	if err := strictly(text, &outer); err != nil {
		return c, err
	}
	if outer.Format != format {
		return c, fmt.Errorf("it is of format %d, and this heed knows %d", outer.Format, format)
	}
	if sumOf(outer.Counts) != outer.Sum {
		return c, errors.New("its sum (sha256) is not that of its counts")
	}
	if err := strictly(outer.Counts, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

// strictly decodes one JSON value of which every member is known.
func strictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows behind the JSON")
	}
	return nil
}

// check refuses what heed does not write.
func (c counts) check() error {
	seen := map[string]bool{}
	for _, r := range c.Clients {
		if seen[r.Name] {
			return fmt.Errorf("client %q stands in it twice", r.Name)
		}
		seen[r.Name] = true
		if r.Requests < 0 || r.Octets < 0 || r.Minute < 0 {
			return fmt.Errorf("client %q has used less than nothing", r.Name)
		}
	}
	return nil
}

// date is a day since 1970, written as in 2026-11-21.
type date int64

// MarshalText returns the date.
func (d date) MarshalText() ([]byte, error) {
	return time.Unix(0, int64(d)*wholeDay).UTC().AppendFormat(nil, time.DateOnly), nil
}

// UnmarshalText reads what MarshalText returns.
func (d *date) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return err
	}
	*d = date(t.Unix() / (wholeDay / int64(time.Second)))
	return nil
}

// record returns what the file is to have of an account, and how often that has
// changed since the process began.
func (a *Account) record(now moment) (record, uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advanceLocked(now)
	return record{
		Name: a.name, Day: date(a.day.number), Requests: a.requests, Octets: a.octets,
		Minute: a.minute.underWay + int64(a.minute.n), Unknown: a.lost,
	}, a.changes
}

// recall takes over what another process has counted until saved.
func (a *Account) recall(r record, saved int64, now moment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.day, a.requests, a.octets, a.lost = recalled(int64(r.Day), now), r.Requests, r.Octets, r.Unknown
	at := now.mono - max(now.wall-saved, 0) // not later than now, wherever the clock was set
	for range min(r.Minute, a.minute.limit) {
		a.minute.push(at)
	}
	a.advanceLocked(now)
}

// lose says that what was used today is not known.
func (a *Account) lose(now moment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advanceLocked(now)
	a.lost = a.limits[Day] > 0 || a.limits[Bytes] > 0
	a.changes++
}
