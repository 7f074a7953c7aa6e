package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"heed/internal/config"
	"heed/internal/limits"
)

func TestTightLimitsAreWarnedOf(t *testing.T) {
	for _, tt := range []struct {
		why         string
		memory      int64
		descriptors int
		says        string
	}{
		{"plenty", 4 << 30, 65536, ""},
		{"no limits", 0, 0, ""},
		{"a shell's old limit", 0, 1024, `"wanted":5664`},
		{"just enough", 512 << 20, 5664, ""},
		{"a small container", 256 << 20, 65536, "cache.max_bytes"},
	} {
		var b bytes.Buffer
		sayTight(zerolog.New(&b), config.Default(), limits.Memory{Limit: tt.memory}, tt.descriptors)
		if got := b.String(); (tt.says == "") != (got == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.says)
		}
	}
}
