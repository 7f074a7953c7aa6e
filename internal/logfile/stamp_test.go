package logfile

import (
	"bytes"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestAStampIsUTCToTheMillisecond(t *testing.T) {
	east := time.FixedZone("", 5*60*60+45*60)
	for _, at := range []time.Time{
		time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		time.Date(2026, 3, 4, 5, 6, 7, 999_999_999, time.UTC), // cut, not rounded, as the time package does
		time.Date(2026, 3, 4, 5, 6, 7, 80_000_000, time.UTC),
		time.Date(2026, 3, 4, 5, 6, 8, 5_000_000, east),
		time.Date(1969, 12, 31, 23, 59, 59, 1_000_000, time.UTC),
		time.Date(2026, 12, 31, 23, 59, 59, 123_456_789, east),
	} {
		want := `"` + at.UTC().Format("2006-01-02T15:04:05.000Z07:00") + `"`
		for range 2 {
			if got := string(AppendStamp(nil, at)); got != want {
				t.Errorf("the stamp is %s, want %s", got, want)
			}
		}
	}
}

func TestAStampIsAFieldOfItsLine(t *testing.T) {
	var b bytes.Buffer
	before := time.Now().UTC().Truncate(time.Millisecond)
	l := zerolog.New(&b).Hook(Stamp{})
	l.Info().Str("a", "b").Msg("words")
	got := b.String()
	const start, end = `{"level":"info","a":"b","time":"`, `","message":"words"}` + "\n"
	if len(got) != len(start)+24+len(end) || got[:len(start)] != start || got[len(start)+24:] != end {
		t.Fatalf("the line is %s", got)
	}
	at, err := time.Parse(time.RFC3339, got[len(start):len(start)+24])
	if err != nil || at.Before(before) || at.After(time.Now()) {
		t.Errorf("its time is %v, %v", at, err)
	}
}

func BenchmarkStamp(b *testing.B) {
	l := zerolog.New(nil).Hook(Stamp{})
	b.ReportAllocs()
	for b.Loop() {
		l.Info().Msg("")
	}
}
