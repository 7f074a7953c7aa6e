// Package logfile writes the lines of a log, many at a time where there are
// many: at thirty thousand exchanges a second a system call for each line costs
// more than all else that is done to record an exchange.
//
//	lines := logfile.New(logfile.Config{Out: os.Stderr})
//	defer lines.Close()
//	log := zerolog.New(lines).Hook(logfile.Stamp{})
//
// # When a line is written
//
// The first line after a while at once, by a goroutine that is there only while
// there are lines. What comes within Config.Delay of a write waits for the rest
// of it and is written together. So nothing waits longer than Delay to be on its
// way, but for what the write before it takes. Flush and Close wait until all
// is written; only what ends the process without them loses lines, those of the
// last Delay: SIGKILL, a power failure, a fault of Go's runtime.
//
// Order is kept, and each write is of whole lines.
//
// # When Out is slow
//
// Lines wait in memory up to Config.Room. Then Write waits: whoever has a line
// goes on when it is taken. No line is dropped for want of room.
//
// # When Out fails
//
// The lines of that write are lost and counted, Config.Failed is told the first
// time, and the next lines are tried as if nothing had happened. A line that was
// cut is ended, so that what comes after it can be read, and the first that is
// written tells how many are missing (Config.Missing).
//
// Buffers of others do one of three things that this may not: drop lines
// (zerolog/diode), stay broken after one fault (bufio, and what is built on it),
// or wait for a full buffer with a line that somebody is looking for.
package logfile

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Defaults of Config.
const (
	DefaultDelay = 5 * time.Millisecond
	DefaultRoom  = 1 << 20
	DefaultGrace = 5 * time.Second
)

// enough is how many octets are written without waiting for more.
const enough = 64 << 10

// Config is what a Writer is made of. Zero means the default.
type Config struct {
	// Out is where the lines go. Required. Only one goroutine writes at a time.
	Out io.Writer

	// AtOnce is how many octets a write has at most, unless one line alone has
	// more. 0: any number. Where others write to the same pipe, lines stay whole
	// if it is no more than the 4,096 of PIPE_BUF.
	AtOnce int

	// Delay is how long a line waits for others at most.
	Delay time.Duration

	// Room is how many octets wait at most; as many again may be with Out.
	Room int

	// Grace is how long Close lets Out take.
	Grace time.Duration

	// Failed is told why Out failed, the first time that it does. Nil: nobody.
	Failed func(error)

	// Missing returns the line that says how many lines were lost, and why. Nil:
	// nothing is said.
	Missing func(lines int, cause error) []byte
}

// Writer is an io.Writer of lines. Make one with New; it is safe for concurrent
// use.
type Writer struct {
	config Config

	mu      sync.Mutex
	settled sync.Cond // of mu: lines were written or lost, the goroutine ended, or Close gave up
	lines   []byte    // to be written
	spare   []byte    // to be used for lines next
	given   uint64    // writes taken, ever
	done    uint64    // of those, how many are written or lost
	running bool      // a goroutine writes
	closed  bool
	stats   Stats

	hurry chan struct{} // ends the pause of the goroutine that writes

	// Of the goroutine that writes.
	missing int   // lines lost since the last that was written
	cause   error // why
	torn    bool  // Out has the beginning of a line
}

// Stats is what a Writer has done.
type Stats struct {
	Lost   uint64 // lines that could not be written
	Waited uint64 // lines that waited because there was no room
	Err    error  // why the last write failed; nil if it did not
}

// New returns a Writer.
func New(c Config) *Writer {
	if c.Delay <= 0 {
		c.Delay = DefaultDelay
	}
	if c.Room <= 0 {
		c.Room = DefaultRoom
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	w := &Writer{config: c, hurry: make(chan struct{}, 1)}
	w.settled.L = &w.mu
	return w
}

// Write takes a line, or several whole ones; it keeps nothing of p. It waits
// only where there is no room. It never fails: what could not be written is
// counted. After Close it writes to Out itself, and returns what comes of that.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) > 0 && len(w.lines)+len(p) > w.config.Room && !w.closed {
		w.stats.Waited++
		for len(w.lines) > 0 && len(w.lines)+len(p) > w.config.Room && !w.closed {
			w.settled.Wait()
		}
	}
	if w.closed {
		return w.config.Out.Write(p)
	}
	w.lines = append(w.lines, p...)
	w.given++
	switch {
	case !w.running:
		w.running = true
		go w.run()
	case len(w.lines) >= enough:
		w.press()
	}
	return len(p), nil
}

// Flush waits until what was taken before is written or lost.
func (w *Writer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for given := w.given; w.done < given; w.settled.Wait() {
		w.press()
	}
}

// Close writes what waits. The error is that of the last write, or says how much
// Out did not take within Config.Grace.
func (w *Writer) Close() error {
	late := false
	timer := time.AfterFunc(w.config.Grace, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.settled.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.running && !late {
		w.press()
		w.settled.Wait()
	}
	w.closed = true
	w.settled.Broadcast()
	if w.done < w.given {
		return fmt.Errorf("writing the log: %d lines were not taken within %s", w.given-w.done, w.config.Grace)
	}
	return w.stats.Err
}

// Stats returns what was done so far.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// press ends the pause between two writes.
func (w *Writer) press() {
	select {
	case w.hurry <- struct{}{}:
	default: // it was pressed already
	}
}

// run writes until no line has come for the time of a pause.
func (w *Writer) run() {
	pause := time.NewTimer(w.config.Delay)
	defer pause.Stop()
	w.mu.Lock()
	for len(w.lines) > 0 {
		lines, given := w.lines, w.given
		w.lines = w.spare[:0]
		w.mu.Unlock()

		lost, err := w.write(lines)

		w.mu.Lock()
		w.spare = lines
		w.done = given
		w.stats.Lost += uint64(lost)
		w.stats.Err = err
		w.settled.Broadcast()
		if w.closed { // which did not wait for this
			continue
		}
		w.mu.Unlock()

		pause.Reset(w.config.Delay)
		select {
		case <-pause.C:
		case <-w.hurry:
		}
		w.mu.Lock()
	}
	w.running = false
	w.settled.Broadcast()
	w.mu.Unlock()
}
