// Package admin is how an operator talks to a heed that runs.
//
// New is for a listener on loopback: metrics, health, pace, quotas, version. It answers only
// requests whose Host names it, so that a web page cannot reach it by DNS
// rebinding. Nothing there has effects.
//
// NewControl is for a socket that only heed's own user can open, and Client is
// its other end: what is kept of robots.txt files, to look at and to drop; and the
// pace as well.
package admin

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"runtime"
	"sync/atomic"

	"heed/internal/origin"
	"heed/internal/quota"
)

// Config is what a Handler shows. All fields but the last two are required.
type Config struct {
	Metrics  http.Handler
	Version  string
	Ready    *Readiness
	Pace     Pace
	Degraded func() string // what heed does without at the moment, "" for nothing; nil: nothing ever
	Quotas   *quota.Keeper // what clients have left; nil: none has a quota
}

// Readiness says whether new work is welcome. The zero value is not ready.
// Safe for concurrent use.
type Readiness struct{ why atomic.Pointer[string] }

var ready = ""

// Set makes heed ready (why is empty), or not, with the reason.
func (r *Readiness) Set(why string) {
	if why == "" {
		r.why.Store(&ready)
		return
	}
	r.why.Store(&why)
}

// Why returns the reason for not being ready, or "".
func (r *Readiness) Why() string {
	if s := r.why.Load(); s != nil {
		return *s
	}
	return "starting"
}

// New returns the handler:
//
//	/metrics   Prometheus and OpenMetrics text
//	/healthz   200 while the process runs
//	/readyz    200 when exchanges are welcome, 503 with the reason when not;
//	           200 and "degraded: " with what heed does without, too
//	/quota     what each client with a quota has left, JSON
//	/pace      JSON: where requests wait, and for what; see pace.State. ?limit= is
//	           how many hosts are told (100, at most 1,000), ?host= which one
//	/version   JSON
func New(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", c.Metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := c.Ready.Why(); why != "" {
			text(w, http.StatusServiceUnavailable, why)
			return
		}
		if c.Degraded != nil {
			if without := c.Degraded(); without != "" {
				text(w, http.StatusOK, "degraded: "+without)
				return
			}
		}
		text(w, http.StatusOK, "ready")
	})
	mux.HandleFunc("GET /quota", quotaPage(c.Quotas))
	mux.HandleFunc("GET "+pathPace, func(w http.ResponseWriter, r *http.Request) { writePace(w, r, c.Pace) })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"version": c.Version, "go": runtime.Version()}) // a client that went away is no fault
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusOK, "heed "+c.Version+"\n\n/metrics\n/healthz\n/readyz\n/pace\n/quota\n/version")
	})
	return localOnly(mux)
}

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body + "\n")) // a client that went away is no fault
}

// localOnly refuses a Host that a web site could have: only localhost and
// addresses are taken.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, err := origin.Parse("http", r.Host)
		if err == nil && o.Host != "localhost" {
			_, err = netip.ParseAddr(o.Host)
		}
		if err != nil {
			text(w, http.StatusMisdirectedRequest, "this listener answers to localhost and to addresses only, not to "+r.Host)
			return
		}
		next.ServeHTTP(w, r)
	})
}
