package admin

import (
	"encoding/json"
	"net/http"
	"time"

	"heed/internal/quota"
)

// quotas is the answer of /quota.
type quotas struct {
	Clients []clientQuota `json:"clients"`         // in the order of the configuration; none: empty
	File    string        `json:"file,omitempty"`  // where the counts outlive heed; empty: nowhere
	Fault   string        `json:"fault,omitempty"` // why they cannot be written there at the moment
}

type clientQuota struct {
	Name    string       `json:"name"`
	Unknown bool         `json:"unknown,omitempty"` // what was used today was lost, so that nothing is left of it
	Limits  []quotaLimit `json:"limits"`
}

type quotaLimit struct {
	Limit     string    `json:"limit"`      // minute, day or bytes-day
	Of        int64     `json:"of"`         // requests; octets of bodies for bytes-day
	Left      int64     `json:"left"`       //
	Renewed   time.Time `json:"renewed"`    // when more is left: the oldest request is a minute old, the day is over
	RenewedIn int64     `json:"renewed_in"` // the same in seconds, rounded up
	Refused   uint64    `json:"refused"`    // requests, since heed began
}

// quotaPage tells what each client has left.
func quotaPage(k *quota.Keeper) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now()
		page := quotas{Clients: []clientQuota{}, File: k.File(), Fault: k.Fault()}
		for _, s := range k.States(now) {
			c := clientQuota{Name: s.Client, Unknown: s.Lost}
			for i, l := range s.Limits {
				if l.Of > 0 {
					c.Limits = append(c.Limits, quotaLimit{quota.Limit(i).String(), l.Of, l.Left, now.Add(l.Rest).UTC(), quota.Seconds(l.Rest), l.Refused})
				}
			}
			page.Clients = append(page.Clients, c)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(page) // a client that went away is no fault
	}
}
