package cli

import (
	"os"
	"runtime"

	"github.com/rs/zerolog"

	"heed/internal/config"
	"heed/internal/limits"
)

// What the pools of a heed may hold at once. The first two are not
// configurable.
const (
	keptToOrigins = 4096 // connections to origins between requests (proxy)
	keptToRobots  = 256  // of robots.txt fetches (app)
	forClients    = 1024 // a client's connection, and the tunnel behind it
	besides       = 32   // listeners, files
)

// applyLimits gives this process the limits that it is to keep to, and says
// once which they are, and where they are tight for the configuration.
func applyLimits(log zerolog.Logger, c config.Config) {
	memory := limits.SetMemory(os.DirFS("/"), os.Getenv("GOMEMLIMIT") != "")
	descriptors := limits.Descriptors()
	log.Info().Int("descriptors", descriptors).Int64("memory", memory.Limit).Str("memory_from", memory.From).
		Int("processors", runtime.GOMAXPROCS(0)).Msg("limits")
	sayTight(log, c, memory, descriptors)
}

// sayTight warns of limits that the configuration may run into.
func sayTight(log zerolog.Logger, c config.Config, memory limits.Memory, descriptors int) {
	if wanted := keptToOrigins + keptToRobots + c.Robots.Concurrency + forClients + besides; descriptors > 0 && descriptors < wanted {
		log.Warn().Int("descriptors", descriptors).Int("wanted", wanted).
			Str("hint", "raise the hard limit of open files: LimitNOFILE= of systemd, --ulimit nofile= of docker, ulimit -Hn of a shell").
			Msg("few descriptors: a wide crawl will see 503 overload")
	}
	if wanted := 2 * int64(c.Cache.MaxBytes); memory.Limit > 0 && memory.Limit < wanted {
		log.Warn().Int64("memory", memory.Limit).Int64("wanted", wanted).
			Str("hint", "lower cache.max_bytes to less than half of the memory, or give heed more").
			Msg("little memory: with a full cache of robots.txt files heed would do little but collect garbage")
	}
}
