//go:build unix

package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/store/storetest"
)

// fillUp is the main function of a process whose files may not grow for a
// while, which the system refuses as it does when a disk is full. It prints
// what it saw.
func fillUp(path string) {
	var log bytes.Buffer
	f, err := Open(Config{Path: path, Delay: 2 * time.Millisecond, MaxQueue: 1 << 20, Log: zerolog.New(&log)})
	if err != nil {
		fmt.Println("opening:", err)
		return
	}
	ctx := context.Background()
	save := func(n int) {
		body := make([]byte, 20_000) // that no coding makes smaller
		_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(body)
		f.Save(numbered(n), storetest.Successful(string(body)))
	}
	found := func(from, to int) (count int) {
		for n := from; n < to; n++ {
			if _, ok, err := f.Load(ctx, numbered(n)); ok && err == nil {
				count++
			}
		}
		return count
	}
	limit := func(octets uint64) {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
			fmt.Println(err)
		}
		now.Cur = min(octets, now.Max)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
			fmt.Println(err)
		}
	}
	for n := range 10 {
		save(n)
	}
	fmt.Println("room:", f.Flush(ctx), found(0, 10))
	limit(uint64(f.Counts().Octets))
	for n := 10; n < 110; n++ {
		save(n)
	}
	err = f.Flush(ctx)
	c := f.Counts()
	fmt.Println("full:", err != nil, c.Degraded != "", c.Faults > 0, c.Lost > 0, found(0, 10), found(10, 110) == c.Waiting-int(c.Lost))
	for range 5 {
		_ = f.Flush(ctx)
	}
	fmt.Println("lines logged:", strings.Count(log.String(), "\n"))
	limit(1 << 40)
	for deadline := time.Now().Add(10 * time.Second); f.Counts().Degraded != "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // it tries by itself
	}
	for n := 10; n < 110; n++ {
		save(n)
		if n%30 == 0 {
			_ = f.Flush(ctx)
		}
	}
	err = f.Flush(ctx)
	fmt.Println("room again:", err, f.Counts().Degraded, found(0, 110))
	fmt.Println("closed:", f.Close())
	fmt.Println("lines logged:", strings.Count(log.String(), "\n"))
}

func TestDiskThatIsFullIsToldOnceAndOutlived(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	exe, err := os.Executable()
	check(t, err)
	c := exec.CommandContext(t.Context(), exe)
	c.Env = append(os.Environ(), childPath+"="+path, childPath+"_FULL=1")
	out, err := c.CombinedOutput()
	want := "room: <nil> 10\n" +
		"full: true true true true 10 true\n" +
		"lines logged: 1\n" +
		"room again: <nil>  110\n" +
		"closed: <nil>\n" +
		"lines logged: 2\n"
	if err != nil || string(out) != want {
		t.Fatalf("%v:\n%swant:\n%s", err, out, want)
	}
	f := begin(t, Config{Path: path})
	s, err := f.Stats(t.Context())
	if err != nil || s.Records != 110 || s.Damaged != 0 || f.Counts().SetAside != 0 {
		t.Errorf("%+v, %v: want the 110 records that were saved last", s, err)
	}
}

// A folder that cannot be used when heed starts, and can be later.
func TestFileThatCannotBeMadeIsMadeLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	check(t, os.WriteFile(dir, nil, 0o600)) // a file where a folder belongs
	var log bytes.Buffer
	f := begin(t, Config{Path: filepath.Join(dir, DefaultName), Delay: time.Millisecond, Log: zerolog.New(&log)})
	o, r := storetest.HTTPS("a.example"), storetest.Successful("x")
	f.Save(o, r)
	holds(t, f, o, r)
	if err := f.Forget(t.Context(), storetest.HTTPS("b.example")); err == nil {
		t.Error("Forget says that it is done")
	}
	if c := f.Counts(); !strings.Contains(c.Degraded, dir) {
		t.Errorf("%+v does not name the path", c)
	}
	check(t, os.Remove(dir))
	for deadline := time.Now().Add(10 * time.Second); f.Counts().Saved == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it was not written: %+v", f.Counts())
		}
	}
	holds(t, f, o, r)
	if c := f.Counts(); c.Degraded != "" {
		t.Errorf("%+v: it is written again", c)
	}
	check(t, f.Close())
	if got := strings.Count(log.String(), "\n"); got != 2 {
		t.Errorf("%d lines were logged, want two:\n%s", got, log.String())
	}
}

func TestFileThatAnotherProcessHasIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	f := begin(t, Config{Path: path})
	f.Save(storetest.HTTPS("a.example"), storetest.Successful("x"))
	flush(t, f)
	_, err := Open(Config{Path: path, Patience: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("%v does not say who has %s", err, path)
	}
	for _, err := range (Reader{Path: path, Patience: 50 * time.Millisecond}).List(t.Context(), Pattern{}, false) {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%v does not name %s", err, path)
		}
	}
	if _, err := Open(Config{Path: filepath.Dir(path)}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("of a folder: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}
