package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"heed/internal/origin"
	"heed/internal/store/storetest"
)

// childPath names the file of a process that saves under load until it is
// killed: this test binary, started again.
const childPath = "HEED_STORE_TEST_CHILD"

// child is the main function of that process. It says the number of each record
// that it has saved for long enough.
func child() bool {
	path := os.Getenv(childPath)
	if path == "" {
		return false
	}
	if os.Getenv(childPath+"_FULL") != "" {
		fillUp(path)
		return true
	}
	f, err := Open(Config{Path: path})
	if err != nil {
		fmt.Println("fault", err)
		return true
	}
	first, _ := strconv.Atoi(os.Getenv(childPath + "_FIRST"))
	type saved struct {
		n  int
		at time.Time
	}
	var said []saved
	for n := first; ; n++ {
		f.Save(numbered(n), storetest.Successful(bodyOf(n)))
		f.Save(storetest.HTTPS("same.example"), storetest.Successful(bodyOf(n)))
		if n%10 == 0 { // some thousands a second
			said = append(said, saved{n, time.Now()})
			time.Sleep(2 * time.Millisecond)
		}
		for len(said) > 0 && time.Since(said[0].at) > time.Second {
			fmt.Println(said[0].n)
			said = said[1:]
		}
	}
}

func numbered(n int) origin.Origin { return storetest.HTTPS(fmt.Sprintf("n%d.example", n)) }

func bodyOf(n int) string { return fmt.Sprintf("User-agent: *\nDisallow: /%d\n", n%1000) }

func TestKilledUnderLoadLosesAtMostTheLastSecondAndNeverTheFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for the last second, three times")
	}
	path := filepath.Join(t.TempDir(), DefaultName)
	for round := range 3 {
		first := round * 10_000_000
		last := killedChild(t, path, first)
		f, err := Open(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Stats(t.Context())
		if err != nil || s.Damaged > 0 || f.Counts().SetAside > 0 {
			t.Fatalf("%+v, %v: the file was harmed", s, err)
		}
		holds := 0
		for e, err := range f.List(t.Context(), Pattern{}, true) {
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(e.Origin, "https://n"), ".example"))
			if err == nil && string(e.Body) != bodyOf(n) {
				t.Fatalf("%s has the body %q", e.Origin, e.Body)
			}
			holds++
		}
		if holds != s.Records {
			t.Errorf("%d records of %d have a body that can be read", holds, s.Records)
		}
		for n := first; n <= last; n++ {
			if _, ok, err := f.Load(t.Context(), numbered(n)); !ok || err != nil {
				t.Fatalf("record %d was saved more than a second before the end, and is lost (%v)", n, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d records, of which %d had to be there", s.Records, last-first+1)
	}
}

// killedChild runs the other process until it has said a few numbers, kills it
// and returns the last.
func killedChild(t *testing.T, path string, first int) (last int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe)
	c.Env = append(os.Environ(), childPath+"="+path, childPath+"_FIRST="+strconv.Itoa(first))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 100 {
		if !lines.Scan() {
			t.Fatalf("the other process ended: %v", c.Wait())
		}
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(lines.Text())
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(out) // numbers that were said before it died count too
	_ = c.Wait()
	for line := range strings.Lines(string(rest)) {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && strings.HasSuffix(line, "\n") {
			last = n
		}
	}
	return last
}
