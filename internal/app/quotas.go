package app

import (
	"path/filepath"
	"time"

	"heed/internal/config"
	"heed/internal/metrics"
	"heed/internal/quota"
)

// newQuotas returns what counts what the clients use. For one command it counts in
// memory alone: several run at a time, and the file is one process's.
func newQuotas(c config.Config, o Options) *quota.Keeper {
	k := quota.Config{Log: o.Log}
	if !o.Private {
		k.File = filepath.Join(c.StateDir, quota.DefaultName)
	}
	for _, n := range c.Clients.Named {
		k.Clients = append(k.Clients, quota.Client{Name: n.Name, Limits: quota.Limits{
			quota.Minute: int64(n.Quota.RequestsPerMinute),
			quota.Day:    int64(n.Quota.RequestsPerDay),
			quota.Bytes:  int64(n.Quota.BytesPerDay),
		}})
	}
	return quota.New(k)
}

func quotaMetrics(k *quota.Keeper) func() []metrics.Quota {
	return func() (all []metrics.Quota) {
		for _, s := range k.States(time.Now()) {
			for i, l := range s.Limits {
				if l.Of > 0 {
					all = append(all, metrics.Quota{Client: s.Client, Limit: quota.Limit(i).String(), Of: l.Of, Left: l.Left, Refused: l.Refused})
				}
			}
		}
		return all
	}
}
