package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNothingIsSetAsideOverAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for i, want := range []string{"", "-2", "-3"} {
		if err := os.WriteFile(path, []byte{byte(i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		name, err := SetAside(path, nil, now)
		if err != nil || name != path+".damaged-20260102T150405Z"+want {
			t.Fatalf("%q, %v", name, err)
		}
		if b, err := os.ReadFile(name); err != nil || b[0] != byte(i) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
	if name, err := SetAside(path, nil, now); name != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%q, %v where nothing is", name, err)
	}
}

func TestFileIsPutWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	for _, step := range []struct {
		data  string
		place func(from, to string) error
		holds string
		why   string
	}{
		{"one", os.Rename, "one", "there was none"},
		{"two", os.Rename, "two", "it takes the place of what was there"},
		{"three", LinkNew, "two", "it leaves what is there"},
		{"four", func(string, string) error { return errors.New("no") }, "two", "what could not be placed has left what was there"},
	} {
		_ = Put(path, []byte(step.data), 0o600, step.place) // what is there in the end is what counts
		if b, err := os.ReadFile(path); err != nil || string(b) != step.holds {
			t.Errorf("%q, %v: %s", b, err, step.why)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: what was written on the way is left", left, err)
	}
}
