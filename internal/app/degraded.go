package app

import (
	"strings"

	"heed/internal/logfile"
	"heed/internal/metrics"
	"heed/internal/quota"
	"heed/internal/store"
)

// degraded says what heed does without, "" for nothing. f is nil where there is
// no cache file, lines where nothing is known of the log.
func degraded(f *store.File, lines *logfile.Writer, quotas *quota.Keeper) func() string {
	return func() string {
		var without []string
		if f != nil {
			if why := f.Counts().Degraded; why != "" {
				without = append(without, "robots.txt files are kept in memory alone: "+why)
			}
		}
		if lines != nil {
			if err := lines.Stats().Err; err != nil {
				without = append(without, "the log cannot be written: "+err.Error())
			}
		}
		if why := quotas.Fault(); why != "" {
			without = append(without, "what clients have used of their quotas is kept in memory alone: "+why)
		}
		return strings.Join(without, "; ")
	}
}

func logMetrics(lines *logfile.Writer) func() metrics.Log {
	return func() metrics.Log {
		s := lines.Stats()
		return metrics.Log{Lost: s.Lost, Waited: s.Waited}
	}
}
