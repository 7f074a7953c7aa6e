package main

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// of makes rounds of one figure of one scenario, by participant.
func of(scenario, figure string, by map[string][]float64) []round {
	var all []round
	for name, values := range by {
		for i, v := range values {
			if len(all) == i {
				all = append(all, round{scenario: {}})
			}
			all[i][scenario][name] = figures{figure: v}
		}
	}
	return all
}

func TestTargetsAreJudgedByTheMedianOfTheRounds(t *testing.T) {
	for _, c := range []struct {
		why      string
		target   target
		by       map[string][]float64
		measured float64
		reached  bool
	}{
		{"more than the times wanted", target{"s", perSecond, atLeastTimes, squid, 1.5}, map[string][]float64{heed: {30, 32, 10}, squid: {20, 20, 20}}, 1.5, true},
		{"less than the times wanted", target{"s", perSecond, atLeastTimes, squid, 1.5}, map[string][]float64{heed: {29, 40, 10}, squid: {20, 20, 20}}, 1.45, false},
		// The ratio of the medians would be 1.
		{"ratios are those of each round", target{"s", perSecond, atLeastTimes, squid, 1.5}, map[string][]float64{heed: {10, 20, 40}, squid: {5, 10, 20}}, 2, true},
		{"no more than the peer's", target{"s", p99Micros, atMostTimes, squid, 1}, map[string][]float64{heed: {9}, squid: {10}}, 0.9, true},
		{"more than the peer's", target{"s", p99Micros, atMostTimes, squid, 1}, map[string][]float64{heed: {11}, squid: {10}}, 1.1, false},
		{"no more in itself", target{"s", peakMiB, atMost, "", 64}, map[string][]float64{heed: {64}}, 64, true},
		{"more in itself", target{"s", peakMiB, atMost, "", 64}, map[string][]float64{heed: {65, 65, 1}}, 65, false},
		{"added to the peer's", target{"s", p50Micros, atMostAdded, direct, 150}, map[string][]float64{heed: {180, 150, 190}, direct: {30, 20, 30}}, 150, true},
		{"too much added", target{"s", p50Micros, atMostAdded, direct, 150}, map[string][]float64{heed: {200}, direct: {30}}, 170, false},
	} {
		v := c.target.judge(of("s", c.target.figure, c.by))
		if v.Measured == nil || v.Measured.Median != c.measured || v.Reached != c.reached {
			t.Errorf("%s: got %+v of %+v", c.why, v.Measured, v)
		}
	}
}

func TestWhatWasNotMeasuredIsNotReached(t *testing.T) {
	for _, by := range []map[string][]float64{{heed: {1}}, {squid: {1}}} {
		v := (&target{"s", perSecond, atLeastTimes, squid, 0}).judge(of("s", perSecond, by))
		if v.Measured != nil || v.Reached {
			t.Errorf("%v: got %+v", by, v)
		}
	}
}

func TestTargetsAreAboutWhatIsMeasured(t *testing.T) {
	for _, target := range targets {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == target.scenario })
		if i < 0 {
			t.Fatalf("there is no scenario %q", target.scenario)
		}
		for _, name := range []string{heed, target.peer} {
			if name != "" && !slices.ContainsFunc(participants, func(p *participant) bool { return p.name == name && scenarios[i].takes(p) }) {
				t.Errorf("%s: %s takes no part", target.scenario, name)
			}
		}
		if words[target.figure] == "" {
			t.Errorf("%s: there is no word for %s", target.scenario, target.figure)
		}
	}
}

func TestOnlyChoosesByScenarioAndParticipant(t *testing.T) {
	for _, c := range []struct {
		only string
		want int // participants in all
	}{
		{"plain, 1 KiB, 32.*: heed$", 1},
		{"denied.*: heed", 1},
		{"HTTP/2", 2},
	} {
		o := options{}
		if err := o.only.Set(c.only); err != nil {
			t.Fatal(err)
		}
		jobs, _, err := choose(o)
		got := 0
		for _, j := range jobs {
			got += len(j.participants)
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %d, %v", c.only, got, err)
		}
	}
	o := options{}
	_ = o.only.Set("nobody")
	if _, _, err := choose(o); err == nil {
		t.Error("nothing is left to measure, and nobody says so")
	}
}

func TestWhoIsAbsentIsNamed(t *testing.T) {
	participants = append(participants, &participant{name: "ghost", program: "there-is-no-such-program", ways: ways(0)})
	defer func() { participants = participants[:len(participants)-1] }()
	_, absent, err := choose(options{})
	if err != nil || !strings.Contains(absent["ghost"], "not installed") {
		t.Errorf("got %v, %v", absent, err)
	}
	page := (&results{Absent: absent}).markdown()
	if !strings.Contains(page, "| ghost | – | absent: there-is-no-such-program is not installed |") {
		t.Errorf("the page does not say so:\n%s", page)
	}
	if _, _, err := choose(options{requireAll: true}); err == nil || !strings.Contains(err.Error(), "ghost") {
		t.Errorf("-require-all: got %v", err)
	}
}

func TestThePageSaysWhatWasMeasured(t *testing.T) {
	o := options{rounds: 3, seconds: 1, version: "1.2.3"}
	s := &scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == plain32 })]
	jobs := []job{{s, []*participant{participants[0], participants[1]}}}
	var rounds []round
	for _, v := range []float64{10, 20, 30} {
		rounds = append(rounds, round{plain32: {
			direct: {perSecond: 100, p50Micros: 1, p99Micros: 2, loadBusy: 1, connections: 32},
			heed:   {perSecond: v, cpuMicros: 40, p50Micros: 5, p99Micros: 6, residentMiB: 30, peakMiB: 31, proxyBusy: 0.99, loadBusy: 0.5, connections: 32},
		}})
	}
	page := resultsOf(o, jobs, nil, rounds).markdown()
	for _, want := range []string{
		". heed 1.2.3.", "75.0 %",
		"| direct | 100 | 0.20 (0.10–0.30) | – | 1.00 | 2.00 | – | – | – | 100 % |",
		"| heed | 20.0 (10.0–30.0) | – | 40.0 | 5.00 | 6.00 | 31.0 | 30.0 | 99 % | 50 % |",
		"| plain, 1 KiB, 32 connections | memory at most, MiB | ≤ 64.0 | 31.0 | reached |",
		"| plain, 1 KiB, 32 connections | answers a second, by those of goproxy | ≥ 3.50 | – | not measured |",
		"| squid | – | not asked for |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "%!") {
		t.Error("a verb of the page met the wrong value")
	}
	if t.Failed() {
		t.Log(page)
	}
}

// What a process takes is counted with what its children take.
func TestAProcessIsCountedWithItsChildren(t *testing.T) {
	if testing.Short() {
		t.Skip("it burns a processor for a moment")
	}
	cmd := exec.Command("sh", "-c", "sh -c 'while :; do :; done' & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	for deadline := time.Now().Add(5 * time.Second); len(p.pids) < 2; {
		if err := p.count(); err != nil || time.Now().After(deadline) {
			t.Fatalf("%v: no child was found: %v", err, p.pids)
		}
	}
	before, err := p.cpu()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		after, err := p.cpu()
		if err != nil {
			t.Fatal(err)
		}
		if after-before > 20*time.Millisecond {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child's time is not counted: %v", after-before)
		}
		time.Sleep(time.Millisecond)
	}
	if now, most, err := p.memory(); err != nil || now == 0 || most < now {
		t.Errorf("memory %d, at most %d, %v", now, most, err)
	}
}
