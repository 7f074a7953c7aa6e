package main

import (
	"fmt"
	"strings"
	"time"

	"heed/bench/record"
	"heed/bench/series"
)

// measurement is one cold start.
type measurement struct {
	took   time.Duration
	cpu    time.Duration // of heed
	own    time.Duration // CPU of this program: the clients and the origins
	memory int64         // of heed at most, in octets
}

// row is all the cold starts at one concurrency.
type row struct {
	Concurrency int       `json:"concurrency"`
	BoundS      float64   `json:"bound_s"` // two latencies an origin, by the concurrency
	TookS       []float64 `json:"took_s"`  // by round
	CPUS        []float64 `json:"heed_cpu_s"`
	OwnCPUS     []float64 `json:"clients_and_origins_cpu_s"`
	MemoryMiB   []float64 `json:"heed_memory_mib"`
	Times       float64   `json:"times_the_bound"` // of the median
}

func (r *row) add(concurrency int, m measurement) {
	r.Concurrency = concurrency
	r.TookS = append(r.TookS, m.took.Seconds())
	r.CPUS = append(r.CPUS, m.cpu.Seconds())
	r.OwnCPUS = append(r.OwnCPUS, m.own.Seconds())
	r.MemoryMiB = append(r.MemoryMiB, float64(m.memory)/(1<<20))
}

func (r *row) finish(e effort) {
	r.BoundS = bound(e, r.Concurrency).Seconds()
	r.Times = series.Of(r.TookS).Median / r.BoundS
}

// bound is what all of it takes if nothing takes time but the origins.
func bound(e effort, concurrency int) time.Duration {
	return time.Duration(e.origins) * 2 * e.latency / time.Duration(concurrency)
}

// results are those of one run.
type results struct {
	Environment environment `json:"environment"`
	Effort      effortNote  `json:"effort"`
	Rows        []row       `json:"rows"`
}

// environment is where and of what a run was made.
type environment struct {
	record.Environment
	Heed string `json:"heed"`
}

// effortNote is effort as results record it.
type effortNote struct {
	Origins   int     `json:"origins"`
	LatencyMS float64 `json:"latency_ms"`
	Rounds    int     `json:"rounds"`
}

func effortOf(e effort) effortNote {
	return effortNote{e.origins, float64(e.latency) / float64(time.Millisecond), e.rounds}
}

// markdown is the results for people.
func (r *results) markdown() string {
	var b strings.Builder
	env, e := r.Environment, r.Effort
	fmt.Fprintf(&b, "# Cold start\n\n%s, %s (%d cores, shared by heed, its clients and the origins), %s %s. heed %s.\n\n", env.Date, env.CPU, env.Cores, env.Go, env.System, env.Heed)
	fmt.Fprintf(&b, "%d origins with an address each, none of which heed has met; each answers after %g ms and is asked for one page through heed. Each saw one request for its robots.txt and one for its page, in every round. Medians of %d rounds, in brackets the least and the most.\n\n", e.Origins, e.LatencyMS, e.Rounds)
	b.WriteString("| clients and robots.concurrency | bound, s | took, s | × bound | origins/s | CPU of heed, s | CPU of clients and origins, s | memory of heed, MiB |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %d | %.2f | %s | %.2f | %.0f | %s | %s | %s |\n", row.Concurrency, row.BoundS,
			spread("%.2f", row.TookS), row.Times, float64(e.Origins)/series.Of(row.TookS).Median, spread("%.2f", row.CPUS), spread("%.2f", row.OwnCPUS), spread("%.0f", row.MemoryMiB))
	}
	return b.String()
}

// spread writes "median (least–most)".
func spread(format string, values []float64) string {
	s := series.Of(values)
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.Median, s.Least, s.Most)
}
