package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"heed/internal/agent"
)

// Pace is about how fast origins are asked.
type Pace struct {
	Hold              Duration  `yaml:"hold"`               // how long a request waits for its turn; 0 for not at all
	Patient           []Patient `yaml:"patient"`            // clients that wait for longer
	MinInterval       Duration  `yaml:"min_interval"`       // between two requests to a host; 0 for none
	MaxDelay          Duration  `yaml:"max_delay"`          // the longest that a site is granted
	PerOrigin         int       `yaml:"per_origin"`         // requests under way at a host; 0 for any number
	PerAddress        int       `yaml:"per_address"`        // requests under way at an address; 0 for any number
	Queue             int       `yaml:"queue"`              // requests that wait at a host
	TargetConcurrency Ratio     `yaml:"target_concurrency"` // requests under way at a host on average, by which slow answers make the interval longer; 0 for not
}

// Patient is a client that waits for longer than others, by its product token.
type Patient struct {
	Token string   `yaml:"token"`
	Hold  Duration `yaml:"hold"`
}

// patient are clients that wait for minutes, and are lost when they are told to
// come back: Scrapy gives up after 180 s, asks three times in a row and takes no
// notice of Retry-After; Wget gives up after 900 s, and asks once.
var patient = []Patient{
	{Token: "Scrapy", Hold: Duration(2 * time.Minute)},
	{Token: "Wget", Hold: Duration(2 * time.Minute)},
}

// Ratio is a number that need not be whole, and is not negative.
type Ratio float64

// UnmarshalText reads a decimal number.
func (n *Ratio) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f >= 0 && f <= 1e6) {
		return fault("is not a number of 0 or more; write for example 1.5")
	}
	*n = Ratio(f)
	return nil
}

// MarshalText returns the shortest form that UnmarshalText reads.
func (n Ratio) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'f', -1, 64), nil
}

// longestHold is how long a request may be made to wait: longer than any client
// does.
const longestHold = Duration(15 * time.Minute)

func (r *reader) pace() {
	p := r.config.Pace
	r.length("pace.hold", p.Hold, 0, longestHold, "")
	r.length("pace.min_interval", p.MinInterval, 0, Duration(time.Hour), "")
	r.length("pace.max_delay", p.MaxDelay, Duration(time.Second), Duration(24*time.Hour), "")
	r.count("pace.per_origin", p.PerOrigin, 0, 65536)
	r.count("pace.per_address", p.PerAddress, 0, 65536)
	r.count("pace.queue", p.Queue, 1, 10_000)
	seen := map[string]int{}
	for i, who := range p.Patient {
		key := fmt.Sprintf("pace.patient[%d]", i)
		switch {
		case who.Token == "":
			r.missing(key, "token", "ExampleBot, the product token that the client goes by")
		case !agent.IsToken(who.Token):
			r.blame(key+".token", who.Token, fault("is no product token; write letters, digits, - and _ alone, without a version"))
		}
		r.length(key+".hold", who.Hold, 0, longestHold, "")
		if first, twice := seen[strings.ToLower(who.Token)]; twice {
			r.blame(key+".token", who.Token, fault(fmt.Sprintf("stands in pace.patient[%d] already; keep one of them", first)))
			continue
		}
		seen[strings.ToLower(who.Token)] = i
	}
}
