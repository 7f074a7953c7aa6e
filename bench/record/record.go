// Package record writes down what was measured, and on what.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Environment is where and when a measurement was made.
type Environment struct {
	Date   string `json:"date"` // UTC
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"`
	System string `json:"system"`
}

// Here is this machine now.
func Here() Environment {
	return Environment{
		Date:   time.Now().UTC().Format(time.DateOnly),
		CPU:    cpu(),
		Cores:  runtime.NumCPU(),
		Go:     runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// cpu is the processor's model as the system names it, which only Linux tells;
// elsewhere its architecture.
func cpu() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if key, name, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(name)
		}
	}
	return runtime.GOARCH
}

// Write prints the page of some results, and puts both into a folder, as
// NAME.json and NAME.md, if one is named.
func Write(folder, name string, results any, page string) error {
	if folder != "" {
		if err := keep(filepath.Join(folder, name), results, page); err != nil {
			return fmt.Errorf("writing the results: %w", err)
		}
	}
	_, err := os.Stdout.WriteString(page)
	return err
}

func keep(path string, results any, page string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "\t")
	if err := e.Encode(results); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".json", b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(path+".md", []byte(page), 0o644)
}
