package config

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Whatever the file says, either it is refused with a fault that names it, or
// it gives a configuration that is valid and survives being printed.
func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile(examplePath)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(full))
	for _, row := range badFiles {
		f.Add([]byte(row.file))
	}
	for _, row := range badClients {
		f.Add([]byte(row.file))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse("heed.yaml", text, nil)
		if err != nil {
			checkFault(t, err)
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("loaded, but not valid: %v", err)
		}
		var printed bytes.Buffer
		if err := c.Print(&printed); err != nil {
			t.Fatal(err)
		}
		again, err := parse("printed.yaml", printed.Bytes(), nil)
		if err != nil {
			t.Fatalf("what was printed does not load: %v\n%s", err, &printed)
		}
		if redactAll(reflect.ValueOf(&c).Elem()); !reflect.DeepEqual(again, c) {
			t.Fatalf("printed\n%s\nit reads as %+v, it was %+v", &printed, again, c)
		}
	})
}

// checkFault fails unless each fault is one line that names its place.
func checkFault(t *testing.T, err error) {
	t.Helper()
	var all interface{ Unwrap() []error }
	faults := []error{err}
	if errors.As(err, &all) {
		faults = all.Unwrap()
	}
	for _, fault := range faults {
		if text := fault.Error(); strings.ContainsAny(text, "\n\r") || text == "" {
			t.Errorf("fault is not one line: %q", text)
		}
	}
}
