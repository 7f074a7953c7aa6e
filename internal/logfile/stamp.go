package logfile

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Stamp is a hook of zerolog that gives each line its time, in UTC and to the
// millisecond: "2006-01-02T15:04:05.000Z". To write out the day and the second
// costs more than the rest of it, so they are kept for as long as they last.
type Stamp struct{}

// Run is zerolog's.
func (Stamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	var buffer [len(`"2006-01-02T15:04:05.000Z"`)]byte
	e.RawJSON(zerolog.TimestampFieldName, AppendStamp(buffer[:0], time.Now()))
}

// second is a second of UTC, written out.
type second struct {
	unix int64
	text string
}

var lately atomic.Pointer[second]

// AppendStamp appends a time as Stamp writes it, in quotes.
func AppendStamp(dst []byte, now time.Time) []byte {
	s := lately.Load()
	if unix := now.Unix(); s == nil || s.unix != unix {
		s = &second{unix, now.UTC().Format("2006-01-02T15:04:05")}
		lately.Store(s)
	}
	millis := now.Nanosecond() / int(time.Millisecond)
	dst = append(append(dst, '"'), s.text...)
	return append(dst, '.', byte('0'+millis/100), byte('0'+millis/10%10), byte('0'+millis%10), 'Z', '"')
}
