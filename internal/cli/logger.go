package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"heed/internal/config"
)

// newLogger returns the log of a command. Times are UTC.
func newLogger(w io.Writer, c config.Log) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("log.level: %w", err)
	}
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00"
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	if forPeople(w, c) {
		w = zerolog.ConsoleWriter{
			Out: w, TimeFormat: time.TimeOnly, TimeLocation: time.UTC,
			NoColor: os.Getenv("NO_COLOR") != "" || !isTerminal(w),
		}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}

// forPeople reports whether a log is to be read by people as it is.
func forPeople(w io.Writer, c config.Log) bool {
	return c.Format == "console" || c.Format == "auto" && isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
