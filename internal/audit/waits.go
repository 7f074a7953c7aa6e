package audit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// waits adds up how long requests waited for their turn, by origin and by what
// they waited for.
type waits struct {
	of   map[cause]waited
	rest waited // of causes beyond maxCauses
}

type waited struct {
	n    int
	time time.Duration
}

func (w waited) plus(other waited) waited { return waited{w.n + other.n, w.time + other.time} }

// shortestWait is what is worth telling, all waits for one thing together.
const shortestWait = 100 * time.Millisecond

func (w *waits) add(e *Entry) {
	if e.PaceWait <= 0 {
		return
	}
	one := waited{1, e.PaceWait}
	c := cause{origin: e.Origin, why: e.Pace.words()}
	all, known := w.of[c]
	if !known {
		if len(w.of) >= maxCauses {
			w.rest = w.rest.plus(one)
			return
		}
		c.origin = strings.Clone(c.origin) // it may be part of a whole request
	}
	w.of[c] = all.plus(one)
}

// write writes a line for each, the longest first, and one for what is left.
func (w *waits) write(out io.Writer) {
	type row struct {
		cause
		waited
	}
	var rows []row
	rest := w.rest
	for c, all := range w.of {
		if all.time >= shortestWait {
			rows = append(rows, row{c, all})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.origin, b.origin), cmp.Compare(a.why, b.why))
	})
	shown := rows[:min(len(rows), summaryRows)]
	for _, r := range shown {
		fmt.Fprintf(out, "heed: waited %s at %s, %s, %s\n", inSeconds(r.time), origin(r.cause), plural(r.n, "request"), r.why)
	}
	for _, r := range rows[len(shown):] {
		rest = rest.plus(r.waited)
	}
	if rest.n > 0 {
		fmt.Fprintf(out, "heed: … and %s at other origins, %s\n", inSeconds(rest.time), plural(rest.n, "request"))
	}
}

// words says what a request had to wait for, in a few words.
func (p Pace) words() string {
	every := ""
	if p.Interval > 0 {
		every = " " + inSeconds(p.Interval)
	}
	switch p.Cause {
	case "":
		return "its turn"
	case "crawl-delay":
		return "Crawl-delay" + p.cut() + every
	case "request-rate":
		return "Request-rate" + p.cut() + every
	case "visit-time":
		return "Visit-time"
	case "min-interval":
		return "pace.min_interval" + every
	case "retry-after":
		return "Retry-After"
	case "back-off":
		return "back-off after 429 or 503"
	case "slow-answers":
		return "slow answers"
	case "concurrency":
		return "pace.per_origin"
	case "address":
		return "pace.per_address"
	}
	return "pace." + p.Cause // the queue
}

// cut says what a site asks for that is not granted that much.
func (p Pace) cut() string {
	if p.Asked == 0 {
		return ""
	}
	return " " + inSeconds(p.Asked) + " cut to"
}

// inSeconds is a length of time in seconds, of which the tenths are told while
// they matter.
func inSeconds(d time.Duration) string {
	decimals := 0
	if d < 10*time.Second {
		decimals = 1
	}
	text := strconv.FormatFloat(d.Seconds(), 'f', decimals, 64)
	return strings.TrimSuffix(text, ".0") + " s"
}
