package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"heed/internal/config"
	"heed/internal/logfile"
)

// pipeBuf is how many octets of a write to a pipe stay together, whoever else
// writes to it (PIPE_BUF, at least 512, and 4,096 on Linux).
const pipeBuf = 4096

// newLogger returns the log of a command, and what writes its lines: it is to be
// closed when the command ends. failed is told when w cannot be written, once.
// Times are UTC.
func newLogger(w io.Writer, c config.Log, failed func(error)) (zerolog.Logger, *logfile.Writer, error) {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		return zerolog.Nop(), nil, fmt.Errorf("log.level: %w", err)
	}
	to := logfile.Config{Out: w, Failed: failed, Missing: missing}
	switch f, isFile := w.(*os.File); {
	case forPeople(w, c):
		to.AtOnce = 1 // a line at a time is what it can read
		to.Out = console{zerolog.ConsoleWriter{
			Out: w, TimeFormat: time.TimeOnly, TimeLocation: time.UTC,
			NoColor: os.Getenv("NO_COLOR") != "" || !isTerminal(w),
		}}
	case isFile && !isRegular(f):
		to.AtOnce = pipeBuf
	}
	lines := logfile.New(to)
	return zerolog.New(urgent{lines}).Level(level).Hook(logfile.Stamp{}), lines, nil
}

// urgent waits for lines that tell of a fault to be written: the process may be
// about to end. So it does for those without a level, which say that heed is
// there.
type urgent struct{ *logfile.Writer }

// WriteLevel is zerolog's.
func (u urgent) WriteLevel(l zerolog.Level, line []byte) (int, error) {
	n, err := u.Write(line)
	if l >= zerolog.ErrorLevel {
		u.Flush()
	}
	return n, err
}

// missing is the line that says that others are missing.
func missing(lines int, cause error) []byte {
	var b bytes.Buffer
	log := zerolog.New(&b).Hook(logfile.Stamp{})
	log.Error().Int("lines", lines).Err(cause).Msg("lines of this log are missing here: it could not be written")
	return b.Bytes()
}

// console is a zerolog.ConsoleWriter that does not count a line as written when
// that failed.
type console struct{ zerolog.ConsoleWriter }

// Write writes one line.
func (c console) Write(line []byte) (int, error) {
	if _, err := c.ConsoleWriter.Write(line); err != nil {
		return 0, err
	}
	return len(line), nil
}

// forPeople reports whether a log is to be read by people as it is.
func forPeople(w io.Writer, c config.Log) bool {
	return c.Format == "console" || c.Format == "auto" && isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func isRegular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
