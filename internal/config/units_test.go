package config

import (
	"testing"
	"time"
)

func TestDurationsReadAndPrintThemselves(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "10s": 10 * time.Second, "500ms": 500 * time.Millisecond,
		"1m": time.Minute, "1m30s": 90 * time.Second, "1h": time.Hour,
		"1h30m": 90 * time.Minute, "24h": 24 * time.Hour, "720h": 720 * time.Hour,
		"1h0m1s": time.Hour + time.Second, "10h": 10 * time.Hour, "20m": 20 * time.Minute,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s reads as %v, %v; want %v", text, time.Duration(d), err, want)
		}
		if d.String() != text {
			t.Errorf("%v prints as %s, want %s", want, d, text)
		}
	}
	for _, text := range []string{"", "10", "-1s", "+1s", "1d", "ten", "1s ", "9999999h"} {
		d := Duration(7)
		if err := d.UnmarshalText([]byte(text)); err == nil || d != 7 {
			t.Errorf("%q reads as %v, %v; want a fault and no change", text, d, err)
		}
	}
}

func TestSizesReadAndPrintThemselves(t *testing.T) {
	for text, want := range map[string]Size{
		"0B": 0, "1B": 1, "1000B": 1000, "1KiB": 1024, "500KiB": 512_000,
		"64MiB": 64 << 20, "1025KiB": 1025 << 10, "3GiB": 3 << 30,
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s reads as %d, %v; want %d", text, int64(s), err, want)
		}
		if s.String() != text {
			t.Errorf("%d prints as %s, want %s", want, s, text)
		}
	}
	for _, text := range []string{"", "500", "KiB", "-1KiB", "+1KiB", "1.5MiB", "500KB", "500kib", "1e3B", "9223372036854775807GiB", "9223372036854775808B"} {
		s := Size(7)
		if err := s.UnmarshalText([]byte(text)); err == nil || s != 7 {
			t.Errorf("%q reads as %v, %v; want a fault and no change", text, s, err)
		}
	}
}

func TestPortsReadAndPrintThemselves(t *testing.T) {
	for text, want := range map[string]Ports{
		"443": {443, 443}, "1-65535": {1, 65535}, "8000-8999": {8000, 8999},
	} {
		var p Ports
		if err := p.UnmarshalText([]byte(text)); err != nil || p != want || p.String() != text {
			t.Errorf("%s reads as %v, %v; want %v", text, p, err, want)
		}
	}
	for _, text := range []string{"", "0", "65536", "-1", "+80", "80-", "-80", "90-80", "http", "1-2-3", "80 "} {
		var p Ports
		if err := p.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q reads as %v, want a fault", text, p)
		}
	}
	p := Ports{10, 20}
	for port, want := range map[uint16]bool{9: false, 10: true, 15: true, 20: true, 21: false} {
		if p.Contains(port) != want {
			t.Errorf("%v contains %d: %v, want %v", p, port, !want, want)
		}
	}
}

func TestHostPatternsMatchTheirHosts(t *testing.T) {
	for _, tt := range []struct {
		pattern, host string
		want          bool
	}{
		{"a.example", "a.example", true},
		{"A.Example.", "a.example", true},
		{"a.example", "b.a.example", false},
		{"a.example", "ba.example", false},
		{"*.a.example", "b.a.example", true},
		{"*.a.example", "c.b.a.example", true},
		{"*.a.example", "a.example", false},
		{"::1", "::1", true},
		{"0:0::1", "::1", true},
		{"127.0.0.1", "127.0.0.1", true},
	} {
		var p HostPattern
		if err := p.UnmarshalText([]byte(tt.pattern)); err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
		}
		if got := p.Matches(tt.host); got != tt.want {
			t.Errorf("%s matches %s: %v, want %v", tt.pattern, tt.host, got, tt.want)
		}
	}
}
