package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heed/fetch"
	"heed/internal/config"
	"heed/internal/origin"
	"heed/policy"
)

func TestRobotsFolderHasAFileForEachOrigin(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "files")
	for name, path := range map[string]string{
		"files/a.example.txt": "/host", "files/a.example_8443.txt": "/port", "files/--1_80.txt": "/v6", "secret.txt": "/secret",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("User-agent: *\nDisallow: "+path+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.txt", filepath.Join(folder, "led.example.txt")); err != nil {
		t.Fatal(err)
	}
	robots, err := RobotsFolder(fetch.Reading{}, folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ why, url, disallows, fault string }{
		{"a host", "https://a.example", "/host", ""},
		{"on another scheme", "http://a.example", "/host", ""},
		{"a port of it", "https://a.example:8443", "/port", ""},
		{"an address of IPv6", "http://[::1]", "/v6", ""},
		{"none", "https://b.example", "", "there is no file for it (b.example.txt)"},
		{"a file that leads out of the folder", "https://led.example", "", "its robots.txt cannot be read: "},
	} {
		o, err := config.Origin(tt.url).Parse()
		if err != nil {
			t.Fatal(err)
		}
		s, err := robots.Snapshot(t.Context(), o)
		if tt.fault != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.fault) {
				t.Errorf("%s: %v", tt.why, err)
			}
			continue
		}
		if err != nil || s.Decide(policy.Tokens{}, tt.disallows).Allowed {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
	if _, err := robots.Snapshot(t.Context(), origin.Origin{}); err == nil {
		t.Error("no origin has a file")
	}
	if _, err := RobotsFolder(fetch.Reading{}, filepath.Join(dir, "absent")); err == nil {
		t.Error("a folder that is not there is read")
	}
	if _, err := RobotsFile(fetch.Reading{}, filepath.Join(dir, "absent")); err == nil {
		t.Error("a file that is not there is read")
	}
}
