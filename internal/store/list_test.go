package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heed/internal/origin"
	"heed/internal/store/storetest"
)

func listed(t *testing.T, list func(context.Context, Pattern, bool) func(func(Entry, error) bool), p Pattern) (all []string) {
	t.Helper()
	for e, err := range list(t.Context(), p, true) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Origin+" "+string(e.Body))
	}
	return all
}

func TestListIsTheSameOfAFileInUseAndOfOneThatIsNot(t *testing.T) {
	f := begin(t, Config{})
	var want []string
	for i := range 2500 { // more than one look takes
		o := storetest.HTTPS(fmt.Sprintf("h%04d.example", i))
		if i%10 == 0 {
			o.Scheme, o.Port = "http", "8080"
		}
		f.Save(o, storetest.Successful(fmt.Sprint("body ", i%3)))
		want = append(want, fmt.Sprintf("%s body %d", o, i%3))
	}
	one, err := ParsePattern("https://h0011.example")
	check(t, err)
	below, err := ParsePattern("http://*.example")
	check(t, err)
	var http []string
	for _, line := range want {
		if strings.HasPrefix(line, "http:") {
			http = append(http, line)
		}
	}
	look := func(why string, list func(context.Context, Pattern, bool) func(func(Entry, error) bool)) {
		for p, want := range map[Pattern][]string{{}: want, one: {"https://h0011.example body 2"}, below: http, {Host: "nowhere.example"}: nil} {
			if got := listed(t, list, p); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %d origins, want %d", why, p, len(got), len(want))
			}
		}
	}
	look("in use", func(ctx context.Context, p Pattern, b bool) func(func(Entry, error) bool) { return f.List(ctx, p, b) })
	check(t, f.Close())
	r := Reader{Path: f.Path()}
	look("not in use", func(ctx context.Context, p Pattern, b bool) func(func(Entry, error) bool) { return r.List(ctx, p, b) })
	s, err := r.Stats(t.Context())
	if err != nil || s.Records != 2500 || s.Bodies != 3 || s.Running != nil || s.Octets == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Whoever reads slowly keeps nobody from the file.
func TestReaderLetsTheFileGoWhileItsListIsLookedAt(t *testing.T) {
	f := begin(t, Config{})
	for i := range 1500 {
		f.Save(numbered(i), storetest.Successful("x"))
	}
	check(t, f.Close())
	seen := 0
	for _, err := range (Reader{Path: f.Path()}).List(t.Context(), Pattern{}, false) {
		check(t, err)
		if seen++; seen == 1 {
			other, err := Open(Config{Path: f.Path()})
			if err != nil {
				t.Fatalf("the file is held: %v", err)
			}
			check(t, other.Close())
		}
	}
	if seen != 1500 {
		t.Errorf("%d of 1500 origins", seen)
	}
}

func TestReaderOfADamagedFileSaysSoAndLeavesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultName)
	check(t, os.WriteFile(path, []byte("User-agent: *\n"), 0o600))
	_, err := Reader{Path: path}.Stats(t.Context())
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "set") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is not where it was: %v", err)
	}
	if s, err := (Reader{Path: path + "-absent"}).Stats(t.Context()); err != nil || s.Records != 0 {
		t.Errorf("of no file: %+v, %v", s, err)
	}
}

func TestForgetAllDropsWhatAPatternNames(t *testing.T) {
	f := begin(t, Config{})
	for i := range 600 {
		f.Save(storetest.HTTPS(fmt.Sprintf("h%d.a.example", i)), storetest.Successful("x"))
	}
	f.Save(storetest.HTTPS("a.example"), storetest.Successful("x"))
	dropped := 0
	for o, err := range ForgetAll(t.Context(), f.List(t.Context(), Pattern{Host: "a.example", Below: true}, false), f.Forget) {
		if err != nil || !strings.HasSuffix(o, ".a.example") {
			t.Fatalf("%q, %v", o, err)
		}
		dropped++
	}
	if dropped != 600 {
		t.Errorf("%d dropped, want 600", dropped)
	}
	if s, err := f.Stats(t.Context()); err != nil || s.Records != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	failing := func(context.Context, origin.Origin) error { return os.ErrPermission }
	faults := 0
	for _, err := range ForgetAll(t.Context(), f.List(t.Context(), Pattern{}, false), failing) {
		if err != nil {
			faults++
		}
	}
	if faults != 1 {
		t.Errorf("%d faults, want one", faults)
	}
}
