package quota

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// keeper is a Keeper of one client that has loaded its file, and what it logs.
func keeper(t *testing.T, path string, l Limits) (*Keeper, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	k := New(Config{Clients: []Client{{"a", l}, {"b", Limits{}}}, File: path, Log: zerolog.New(log)})
	if err := k.Load(); err != nil {
		t.Fatal(err)
	}
	return k, log
}

// running runs a Keeper in a bubble until the function that it returns is called.
func running(t *testing.T, k *Keeper) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func use(t *testing.T, k *Keeper, requests int, octets int64) {
	t.Helper()
	for range requests {
		a := k.Account("a")
		p, s, ok := a.Take(time.Now())
		if !ok {
			t.Fatalf("refused: %s", s)
		}
		a.Arrived(&p, time.Now())
		a.Carried(octets, time.Now())
	}
}

func left(k *Keeper, l Limit) int64 { return k.Account("a").State(time.Now()).Limits[l].Left }

var all = Limits{Minute: 10, Day: 100, Bytes: 1000}

func TestCountsOutliveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	synctest.Test(t, func(t *testing.T) { // which begins at midnight
		k, _ := keeper(t, path, all)
		stop := running(t, k)
		use(t, k, 7, 10)
		stop()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v, want mode 0600", info, err)
		}
		time.Sleep(30 * time.Second)
		k, log := keeper(t, path, all)
		if left(k, Minute) != 3 || left(k, Day) != 93 || left(k, Bytes) != 930 {
			t.Errorf("half a minute later: %+v", k.States(time.Now()))
		}
		time.Sleep(30*time.Second - 1)
		if left(k, Minute) != 3 {
			t.Error("the minute is not over")
		}
		time.Sleep(1)
		if left(k, Minute) != 10 || left(k, Day) != 93 {
			t.Errorf("a minute later: %+v", k.States(time.Now()))
		}
		time.Sleep(24*time.Hour - time.Minute)
		k, _ = keeper(t, path, all)
		if left(k, Day) != 100 || left(k, Bytes) != 1000 {
			t.Errorf("the next day: %+v", k.States(time.Now()))
		}
		if log.Len() > 0 {
			t.Errorf("logged: %s", log)
		}
	})
}

func TestProcessThatIsKilledForgetsAMinuteAtMost(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	synctest.Test(t, func(t *testing.T) {
		k, _ := keeper(t, path, all)
		stop := running(t, k)
		defer stop()
		use(t, k, 5, 1)
		time.Sleep(time.Minute + 1)
		synctest.Wait()
		use(t, k, 2, 1)
		killed, _ := keeper(t, path, all) // as one would find it now
		if left(killed, Day) != 95 {
			t.Errorf("%+v, want those of the first minute", killed.States(time.Now()))
		}
	})
}

func TestFileIsLeftAloneWhileNothingChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	synctest.Test(t, func(t *testing.T) {
		k, _ := keeper(t, path, all)
		stop := running(t, k)
		use(t, k, 1, 1)
		time.Sleep(time.Minute + 1)
		synctest.Wait()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		stop()
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%v: it was written again", err)
		}
	})
}

func TestClockSetBackBetweenTwoProcessesRenewsNothing(t *testing.T) {
	for _, row := range []struct {
		name  string
		back  time.Duration // set back while heed was not running
		later time.Duration // how long after that
		left  int64
	}{
		{"not set", 0, 0, 93},
		{"over midnight", time.Hour, 0, 93},
		{"over midnight, and through it once more", time.Hour, time.Hour, 93},
		{"over midnight, and the day is over", time.Hour, 25 * time.Hour, 100},
		{"by years", 9000 * time.Hour, 0, 93},
		{"by years, and that day is over", 9000 * time.Hour, 24 * time.Hour, 100},
	} {
		k := New(Config{Clients: []Client{{"a", all}}})
		a := k.Account("a")
		today := moment{noon.wall - wholeDay/2 + int64(30*time.Minute), 0} // half past midnight
		now := today.set(-row.back)
		a.recall(record{"a", date(today.wall / wholeDay), 7, 70, 7, false}, today.wall, now)
		if left := a.state(now).Limits[Minute].Left; left != 3 {
			t.Errorf("%s: %d left of the minute, want 3", row.name, left)
		}
		if left := a.state(now.plus(row.later)).Limits[Day].Left; left != row.left {
			t.Errorf("%s: %d left, want %d", row.name, left, row.left)
		}
	}
}

func TestDamagedFileLeavesNothingOfTheDay(t *testing.T) {
	whole := func() string {
		path := filepath.Join(t.TempDir(), DefaultName)
		k, _ := keeper(t, path, all)
		use(t, k, 7, 10)
		if err := k.write(time.Now()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}()
	forged := func(inner string) string {
		return `{"format":1,"counts":` + inner + `,"sha256":"` + sumOf([]byte(inner)) + `"}`
	}
	for _, row := range []struct{ name, text, says string }{
		{"empty", "", "EOF"},
		{"no JSON", "requests: 7", "reading JSON"},
		{"cut short", whole[:len(whole)/2], "reading JSON"},
		{"a digit changed", strings.Replace(whole, `"requests":7`, `"requests":1`, 1), "sum (sha256)"},
		{"something behind", whole + whole, "follows behind"},
		{"a member that heed does not write", strings.Replace(whole, `"format"`, `"color":"red","format"`, 1), "color"},
		{"another format", strings.Replace(whole, `"format":1`, `"format":2`, 1), "format 2"},
		{"a client twice", forged(`{"saved":"2026-11-21T00:00:00Z","clients":[{"name":"a","day":"2026-11-21"},{"name":"a","day":"2026-11-21"}]}`), "twice"},
		{"less than nothing", forged(`{"saved":"2026-11-21T00:00:00Z","clients":[{"name":"a","day":"2026-11-21","requests":-7}]}`), "less than nothing"},
		{"a day that does not exist", forged(`{"saved":"2026-11-21T00:00:00Z","clients":[{"name":"a","day":"2026-02-30"}]}`), "2026-02-30"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), DefaultName)
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				k, log := keeper(t, path, all)
				aside, _ := filepath.Glob(path + ".damaged-*")
				if len(aside) != 1 {
					t.Fatalf("set aside: %v", aside)
				}
				for _, says := range []string{row.says, path, aside[0], `"level":"error"`, "00:00 UTC"} {
					if !strings.Contains(strings.ReplaceAll(log.String(), `\"`, `"`), says) {
						t.Errorf("the log does not say %q: %s", says, log)
					}
				}
				if b, err := os.ReadFile(aside[0]); err != nil || string(b) != row.text {
					t.Errorf("what was set aside is not what was there (%v)", err)
				}
				for range 2 { // a restart changes nothing
					if left(k, Day) != 0 || left(k, Bytes) != 0 || left(k, Minute) != 10 {
						t.Errorf("%+v", k.States(time.Now()))
					}
					if _, s, ok := k.Account("a").Take(time.Now()); ok || !s.Lost || s.Rest() != 24*time.Hour {
						t.Errorf("%t, %+v", ok, s)
					}
					k, _ = keeper(t, path, all)
				}
				time.Sleep(24 * time.Hour)
				if left(k, Day) != 100 || left(k, Bytes) != 1000 {
					t.Errorf("the next day: %+v", k.States(time.Now()))
				}
			})
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if k, _ := keeper(t, path, all); left(k, Day) != 100 {
				t.Error("the operator has removed the file, and nothing is left")
			}
		})
	}
}

func TestDamageDoesNotTouchWhoHasNoQuotaOfTheDay(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k, _ := keeper(t, path, Limits{Minute: 1})
	use(t, k, 1, 1)
	if k.Account("a").State(time.Now()).Lost {
		t.Error("its minute has nothing to do with the day")
	}
}

func TestFileThatCannotBeReadIsAnErrorAtTheStart(t *testing.T) {
	path := t.TempDir()
	k := New(Config{Clients: []Client{{"a", all}}, File: path})
	if err := k.Load(); err == nil || !strings.Contains(err.Error(), path+" is no regular file") {
		t.Errorf("%v", err)
	}
	if err := New(Config{File: path}).Load(); err != nil {
		t.Errorf("%v: nobody has a quota", err)
	}
}

func TestFileThatCannotBeWrittenIsToldOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		k, log := keeper(t, filepath.Join(dir, DefaultName), all) // the directory is not there
		stop := running(t, k)
		for range 3 {
			use(t, k, 1, 1)
			time.Sleep(time.Minute + 1)
			synctest.Wait()
		}
		if n := strings.Count(log.String(), "cannot be written"); n != 1 || !strings.Contains(k.Fault(), dir) {
			t.Errorf("told %d times, fault %q: %s", n, k.Fault(), log)
		}
		if left(k, Day) != 97 {
			t.Error("the counts do not go on")
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !strings.Contains(log.String(), "written again") || k.Fault() != "" {
			t.Errorf("fault %q: %s", k.Fault(), log)
		}
		stop()
		again, _ := keeper(t, k.File(), all)
		if left(again, Day) != 97 {
			t.Errorf("%+v", again.States(time.Now()))
		}
	})
}

func TestNoKeeperHasNoAccounts(t *testing.T) {
	var k *Keeper
	if k.Load() != nil || k.Run(t.Context()) != nil || k.Account("a") != nil || k.States(time.Now()) != nil || k.File() != "" || k.Fault() != "" {
		t.Error("nil is not a Keeper without accounts")
	}
	some := New(Config{Clients: []Client{{"a", all}, {"b", Limits{}}}})
	if some.Account("a") == nil || some.Account("b") != nil || some.Account("c") != nil {
		t.Error("who has a limit has an account, and nobody else")
	}
}

func TestStateIsToldInWords(t *testing.T) {
	for _, row := range []struct {
		name  string
		state State
		says  string
	}{
		{
			"the minute",
			State{"a", false, [limitCount]Left{{600, 0, 11500 * time.Millisecond, 1}, {100000, 5120, time.Hour, 0}, {}}},
			"client a has used up its 600 requests in a minute: the next may go in 12s; left are 5120 of 100000 requests until 00:00 UTC",
		},
		{
			"the day",
			State{"a", false, [limitCount]Left{{}, {1, 0, 90 * time.Minute, 1}, {10, 3, 90 * time.Minute, 0}}},
			"client a has used up its 1 request of this day, which is over in 1h30m0s (at 00:00 UTC); left are 3 of 10 octets until 00:00 UTC",
		},
		{
			"what was lost",
			State{"a", true, [limitCount]Left{{}, {}, {1 << 30, 0, 1, 1}}},
			"client a has used up its 1073741824 octets (what was used was lost, and counts as all of it) of this day, which is over in 1s (at 00:00 UTC)",
		},
		{
			"both",
			State{"a", false, [limitCount]Left{{1, 0, time.Second, 1}, {2, 0, time.Hour, 1}, {}}},
			"client a has used up its 1 request in a minute: the next may go in 1s, and its 2 requests of this day, which is over in 1h0m0s (at 00:00 UTC)",
		},
	} {
		if text := row.state.String(); text != row.says {
			t.Errorf("%s:\n%s, want\n%s", row.name, text, row.says)
		}
	}
}

// FuzzDecode looks for a file that is believed though heed would not write it.
func FuzzDecode(f *testing.F) {
	for _, c := range []counts{{}, {Saved: time.Unix(0, noon.wall).UTC(), Clients: []record{{"a", 20_000, 1, 2, 3, false}, {"b", 0, 0, 0, 0, true}}}} {
		text, err := c.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := decode(text)
		if err != nil {
			return
		}
		again, err := c.encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if same, err := decode(again); err != nil || len(same.Clients) != len(c.Clients) {
			t.Fatalf("%v: %s", err, again)
		}
		k := New(Config{Clients: []Client{{"a", all}}})
		for _, r := range c.Clients {
			if a := k.Account(r.Name); a != nil {
				a.recall(r, c.Saved.UnixNano(), noon)
				if s := a.state(noon); s.Limits[Day].Left > 100 || s.Limits[Minute].Left > 10 || s.Limits[Bytes].Left > 1000 {
					t.Fatalf("more is left than there is: %+v", s)
				}
			}
		}
	})
}
