package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"heed/internal/pace"
)

const (
	// looksEvery is how often heed run looks for requests that wait.
	looksEvery = 250 * time.Millisecond

	// longWait is from when on a wait is told of.
	longWait = time.Second

	// saysEvery is how often a host is told of in lines, hostsSaid how many are.
	saysEvery = 30 * time.Second
	hostsSaid = 20
)

// waitTeller says on standard error where requests wait while a command runs. On a
// terminal it has a line that changes, below what the command writes; elsewhere it
// writes a line now and then. It is used by one goroutine.
type waitTeller struct {
	out   io.Writer
	state func(limit int) pace.State
	line  *bottomLine // nil where there is no terminal

	said  map[string]time.Time // when a host was last told of
	quiet bool                 // it was told that others are not
}

// tellWaits begins to tell, and returns what ends it: when that returns nothing
// is written any more, and nothing is left of the line.
func tellWaits(out io.Writer, state func(limit int) pace.State) (end func()) {
	w := &waitTeller{out: out, state: state, said: map[string]time.Time{}}
	if f, ok := out.(*os.File); ok && takesLine(f) {
		w.line = &bottomLine{file: f}
	}
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { w.run(ended) })
	return sync.OnceFunc(func() {
		close(ended)
		running.Wait()
	})
}

func (w *waitTeller) run(ended <-chan struct{}) {
	defer w.clear()
	var stops chan os.Signal // Ctrl-Z: the shell that goes on has no use for the line
	if w.line != nil {
		stops = catchStop()
		defer signal.Stop(stops)
	}
	tick := time.NewTicker(looksEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-stops:
			w.clear()
			stopSelf()
		case now := <-tick.C:
			w.look(now)
		}
	}
}

// look tells of what waits now.
func (w *waitTeller) look(now time.Time) {
	if w.line != nil {
		w.redraw()
		return
	}
	for _, h := range w.state(hostsSaid).Hosts {
		if time.Duration(h.Longest) < longWait {
			return // so are those that follow
		}
		w.say(h, now)
	}
}

// redraw has the line say where a request waits for the longest time. It stays
// while any waits, so that it does not blink from one request to the next.
func (w *waitTeller) redraw() {
	s := w.state(1)
	if s.Waiting == 0 || len(s.Hosts) == 0 || !w.line.isThere() && time.Duration(s.Hosts[0].Longest) < longWait {
		w.line.clear()
		return
	}
	text := waitText(s.Hosts[0])
	if others := s.Waiting - s.Hosts[0].Waiting; others > 0 {
		text += fmt.Sprintf("; %s elsewhere", counted(others, "request"))
	}
	w.line.draw(text)
}

func (w *waitTeller) clear() {
	if w.line != nil {
		w.line.clear()
	}
}

// say writes a line, unless the host was told of a moment ago. There is nowhere to
// say that this failed.
func (w *waitTeller) say(h pace.Host, now time.Time) {
	last, known := w.said[h.Host]
	switch {
	case known && now.Sub(last) < saysEvery:
		return
	case !known && len(w.said) >= hostsSaid:
		if !w.quiet {
			w.quiet = true
			fmt.Fprintln(w.out, "heed: requests wait at more hosts; the end tells for how long they did")
		}
		return
	}
	w.said[h.Host] = now
	fmt.Fprintln(w.out, waitText(h))
}

// waitText says why requests wait at a host, and for how long yet.
func waitText(h pace.Host) string {
	text := "heed: " + visible(h.Host) + " "
	switch by, paced := intervalCauses[h.Cause]; {
	case paced && h.Interval > 0 && h.Held == 0:
		text += "is asked every " + inSeconds(time.Duration(h.Interval)) + " (" + by + ")"
	case h.Held > 0:
		text += waitCauses[h.Cause] + " for " + inSeconds(time.Duration(h.Held))
	default:
		text += waitCauses[h.Cause]
	}
	if h.Waiting == 1 {
		text += ": 1 request waits"
	} else {
		text += fmt.Sprintf(": %d requests wait", h.Waiting)
	}
	if h.Next > 0 && h.Held == 0 {
		text += ", the next goes in " + inSeconds(time.Duration(h.Next))
	}
	return text
}

// intervalCauses say why a host is asked so seldom, waitCauses why it is not asked
// at all.
var (
	intervalCauses = map[string]string{
		pace.Site.String():    "Crawl-delay",
		pace.Rate.String():    "Request-rate",
		pace.Floor.String():   "pace.min_interval",
		pace.BackOff.String(): "it answered 429 or 503",
		pace.Slow.String():    "slow answers",
	}
	waitCauses = map[string]string{
		pace.RetryAfter.String():    "asked to be left alone (Retry-After)",
		pace.BackOff.String():       "answered 429 or 503 and is left alone",
		pace.Concurrency.String():   "has as many requests under way as it may (pace.per_origin)",
		pace.SharedAddress.String(): "has an address with as many requests under way as it may (pace.per_address)",
		pace.Queue.String():         "has as many requests waiting as it may (pace.queue)",
	}
)
