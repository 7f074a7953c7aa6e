package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"heed/internal/config"
)

// TestLogTellsTimeInUTC: zerolog stamps local time by itself.
func TestLogTellsTimeInUTC(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = time.FixedZone("far", 11*60*60)

	var out bytes.Buffer
	log, lines, err := newLogger(&out, config.Log{Level: "info", Format: "json"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log.Info().Msg("now")
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	var line struct{ Time string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, line.Time)
	if err != nil || !strings.HasSuffix(line.Time, "Z") || time.Since(at).Abs() > time.Minute {
		t.Errorf("the time is %q: %v", line.Time, err)
	}
}

// TestLogForPeopleHoldsNoControlOctets: zerolog's ConsoleWriter writes a message
// as it is, so that what others sent stands in fields, which it escapes.
func TestLogForPeopleHoldsNoControlOctets(t *testing.T) {
	var out bytes.Buffer
	log, lines, err := newLogger(&out, config.Log{Level: "info", Format: "console"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log.Info().Str("target", "/\x1b[31m\nforged").Msg("exchange")
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(strings.TrimSuffix(out.String(), "\n"), "\x1b\n") {
		t.Errorf("what a client sent reaches the terminal: %q", out.String())
	}
}
