package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/config"
	"heed/internal/origin"
	"heed/policy"
)

// overridden is a configuration with an override of each action.
func overridden(t *testing.T) config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "our-robots.txt")
	if err := os.WriteFile(file, []byte("User-agent: *\nDisalow: /x\n\nDisallow: /y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	at := config.Expiry(time.Date(2999, 4, 1, 0, 0, 0, 0, time.UTC).Unix())
	c.Overrides = []config.Override{
		{Origin: "https://a.example", Action: "allow", Reason: "consent", Reference: "ticket 4711", Owner: "lab", Expires: at},
		{Host: "no.example", Action: "disallow", Reason: "they asked", Owner: "lab"},
		{Host: "*.broken.example", Action: "unavailable", Reason: "it fails", Owner: "lab", Expires: at},
		{Host: "file.example", Action: "file", File: file, Reason: "agreed", Owner: "lab", Expires: at},
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOverridesAreThoseOfTheConfiguration(t *testing.T) {
	table, err := NewOverrides(overridden(t))
	if err != nil {
		t.Fatal(err)
	}
	ends := time.Date(2999, 4, 1, 0, 0, 0, 0, time.UTC)
	for host, want := range map[string]policy.Override{
		"a.example":        {For: "https://a.example", Action: policy.AllowOrigin, Reason: "consent", Reference: "ticket 4711", Owner: "lab", Expires: ends},
		"no.example":       {For: "no.example", Action: policy.DisallowOrigin, Reason: "they asked", Owner: "lab"},
		"x.broken.example": {For: "*.broken.example", Action: policy.HoldUnavailable, Reason: "it fails", Owner: "lab", Expires: ends},
		"file.example":     {For: "file.example", Action: policy.UseOperatorsRules, File: "our-robots.txt", Reason: "agreed", Owner: "lab", Expires: ends},
	} {
		r := table.Find(origin.Origin{Scheme: "https", Host: host, Port: "443"}, time.Now())
		if r == nil || r.Override != want {
			t.Errorf("of %s: %+v, want %+v", host, r, want)
		}
	}
	file := table.Find(origin.Origin{Scheme: "http", Host: "file.example", Port: "80"}, time.Now())
	for target, line := range map[string]int{"/x": 2, "/y": 4, "/z": 0} {
		if d := file.Decide(policy.Tokens{}, target); d.Line != line || d.Allowed != (line == 0) {
			t.Errorf("%s by the file: %v", target, d)
		}
	}
}

func TestAnOperatorsFileIsReadAsCautiouslyAsOthers(t *testing.T) {
	c := overridden(t)
	const early = "Disallow: /early\nUser-agent: *\nDisallow: /x\n" // a rule before any group, which one dialect obeys
	if err := os.WriteFile(c.Overrides[3].File, []byte(early), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cautious := range []bool{false, true} {
		c.Policy.Cautious = cautious
		table, err := NewOverrides(c)
		if err != nil {
			t.Fatal(err)
		}
		r := table.Find(origin.Origin{Scheme: "http", Host: "file.example", Port: "80"}, time.Now())
		if d := r.Decide(policy.Tokens{}, "/early"); d.Allowed == cautious || d.Override == nil {
			t.Errorf("cautious %v: %v", cautious, d)
		}
	}
}

func TestNoOverridesAreNone(t *testing.T) {
	if table, err := NewOverrides(config.Default()); table != nil || err != nil {
		t.Errorf("%v, %v", table, err)
	}
}

func TestAStartFailsWithoutAnOverridesFile(t *testing.T) {
	c := overridden(t)
	if err := os.Remove(c.Overrides[3].File); err != nil {
		t.Fatal(err)
	}
	c.StateDir = t.TempDir()
	if _, err := Start(t.Context(), c, Options{}); err == nil || !strings.Contains(err.Error(), "overrides[3]: ") || !strings.Contains(err.Error(), "our-robots.txt") {
		t.Errorf("the fault is %v", err)
	}
}

func TestAnExpiryIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overridden(t)
		c.Overrides[0].Expires = config.Expiry(time.Now().Add(90 * time.Second).Unix())
		table, err := NewOverrides(c)
		if err != nil {
			t.Fatal(err)
		}
		log := make(lines, 10)
		a := &App{log: zerolog.New(log), overrides: table}
		go a.overrides.Watch(t.Context(), a.expired)
		time.Sleep(90*time.Second - 1)
		synctest.Wait()
		if len(log) > 0 {
			t.Errorf("too early: %s", <-log)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		want := `{"level":"warn","override":"https://a.example","action":"allow","expired":"2000-01-01T00:01:30Z","owner":"lab","reason":"consent","reference":"ticket 4711","hint":"renew it or take it out; it is passed over","message":"override has expired and has no effect"}` + "\n"
		if len(log) != 1 {
			t.Fatalf("%d lines were logged, want 1", len(log))
		}
		if got := <-log; got != want {
			t.Errorf("logged: %s, want %s", got, want)
		}
	})
}

// lines is a log that is read line by line.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
