package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

const fairHost = "fair.example"

// sharedTurns: of two clients that want all that there is, each gets half of
// it, though one has sixteen connections and the other one.
var sharedTurns = []scenario{
	{"two addresses, held", func(t *testing.T) { sharedFairly(t, twoAddresses, "hold: 60s\n") }},
	{"two addresses, most sent away", func(t *testing.T) { sharedFairly(t, twoAddresses, "hold: 1200ms\n") }},
	{"two names, held", func(t *testing.T) { sharedFairly(t, twoNames, "hold: 60s\n") }},
	{"two names, most sent away", func(t *testing.T) { sharedFairly(t, twoNames, "hold: 1200ms\n") }},
}

// sharer is a curl that asks for pages without an end.
type sharer struct {
	name, address, agent string
	connections          int
}

var (
	twoAddresses = []sharer{{"greedy", "127.0.0.2", "ExampleBot/1.0", 16}, {"modest", "127.0.0.1", "ExampleBot/1.0", 1}}
	twoNames     = []sharer{{"greedy", "127.0.0.1", "GreedyBot/1.0", 16}, {"modest", "127.0.0.1", "ModestBot/1.0", 1}}
)

// sharedFairly watches them for 40 turns. So that some wait in turn, a request is
// held for longer than the interval; and for more than two of them where most are
// sent away, as another's turn comes first. After just two its time is over in the
// moment in which it may go, so that milliseconds decide which of them it is.
func sharedFairly(t *testing.T, sharers []sharer, pace string) {
	const interval, turns = 500 * time.Millisecond, 40
	const sharedFor = turns * interval
	program := need(t, onPath("curl"))
	p := newPaced(t, delayed(fairHost, fmt.Sprint(interval.Seconds())), nil, pace)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for _, s := range sharers {
		env, dir := p.curlEnv(t), t.TempDir()
		cmd := exec.CommandContext(ctx, program[0], "-sS", "--interface", s.address, "-A", s.agent, "--retry", "1000",
			"-Z", "--parallel-immediate", "--parallel-max", fmt.Sprint(s.connections),
			"-o", filepath.Join(dir, "#1"), "http://"+fairHost+"/"+s.name+"[1-1000]")
		cmd.Env = env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all.Go(func() { _ = cmd.Wait() }) // it is killed in the end
	}
	began, ok := p.bothStarted(ctx, sharers)
	if !ok {
		t.Fatal("they did not both start")
	}
	pause(ctx, time.Until(began.Add(sharedFor)))
	visits := p.visits(fairHost)
	checkGaps(t, visits, interval)
	var sum, squares float64
	counts := map[string]int{}
	for _, s := range sharers {
		n := 0
		for _, v := range p.visits(fairHost, "/"+s.name) {
			if !v.at.Before(began) && v.at.Before(began.Add(sharedFor)) {
				n++
			}
		}
		counts[s.name] = n
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	jain := sum * sum / (float64(len(sharers)) * squares)
	t.Logf("turns %v, Jain's index %.4f", counts, jain)
	if jain < 0.95 || sum < turns/2 {
		t.Errorf("turns %v of %d, Jain's index %.3f; want 0.95 over half of them at least", counts, turns, jain)
	}
}

// bothStarted waits until each has had a turn, and returns when that was.
func (p *paced) bothStarted(ctx context.Context, sharers []sharer) (time.Time, bool) {
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		var firsts []time.Time
		for _, s := range sharers {
			if v := p.visits(fairHost, "/"+s.name); len(v) > 0 {
				firsts = append(firsts, v[0].at)
			}
		}
		if len(firsts) == len(sharers) {
			return slices.MaxFunc(firsts, time.Time.Compare), true
		}
		if !pause(ctx, 20*time.Millisecond) {
			break
		}
	}
	return time.Time{}, false
}
