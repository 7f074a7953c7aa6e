package admin

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"heed/internal/store"
)

// Cache is what heed keeps of robots.txt files, for those who look at it and
// change it.
type Cache interface {
	// List yields what is kept of the origins that a pattern names, ordered by
	// host, with the bodies if bodies is true. An error is the last it yields.
	List(ctx context.Context, p store.Pattern, bodies bool) iter.Seq2[store.Entry, error]

	// Forget drops what is kept of the origins that a pattern names, and yields
	// each once that is done. An error is the last it yields.
	Forget(ctx context.Context, p store.Pattern) iter.Seq2[string, error]

	// Stats counts what is kept.
	Stats(ctx context.Context) (store.Stats, error)
}

// The paths of NewControl.
const (
	pathCache = "/cache"
	pathStats = "/cache/stats"
)

// NewControl returns the handler of the socket by which commands talk to the
// heed that runs. Unlike New's it has effects, and no check of its own: who can
// open the socket may use it.
//
//	GET    /cache        what is kept of the origins that ?pattern= names, a JSON
//	                     line each; with ?bodies=true the bodies too
//	DELETE /cache        drops it; a JSON line for each
//	GET    /cache/stats  JSON
//	GET    /pace         as New has it
//
// A line that has a fault is the last of an answer that is not whole.
func NewControl(c Cache, p Pace) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathPace, func(w http.ResponseWriter, r *http.Request) { writePace(w, r, p) })
	mux.HandleFunc("GET "+pathCache, func(w http.ResponseWriter, r *http.Request) {
		if p, ok := patternOf(w, r); ok {
			writeLines(w, c.List(r.Context(), p, r.FormValue("bodies") == "true"), func(e store.Entry) line { return line{Entry: &e} })
		}
	})
	mux.HandleFunc("DELETE "+pathCache, func(w http.ResponseWriter, r *http.Request) {
		if p, ok := patternOf(w, r); ok {
			writeLines(w, c.Forget(r.Context(), p), func(origin string) line { return line{Dropped: origin} })
		}
	})
	mux.HandleFunc("GET "+pathStats, func(w http.ResponseWriter, r *http.Request) {
		s, err := c.Stats(r.Context())
		if err != nil {
			text(w, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // a client that went away is no fault
	})
	return mux
}

// line is one of an answer: one of its fields is set.
type line struct {
	Entry   *store.Entry `json:"entry,omitempty"`
	Dropped string       `json:"dropped,omitempty"`
	Fault   string       `json:"fault,omitempty"`
	End     bool         `json:"end,omitempty"` // the answer is whole
}

// patternOf returns the pattern that a request names. It answers the request if
// there is none.
func patternOf(w http.ResponseWriter, r *http.Request) (store.Pattern, bool) {
	p, err := store.ParsePattern(r.FormValue("pattern"))
	if err != nil {
		text(w, http.StatusBadRequest, err.Error())
		return p, false
	}
	return p, true
}

func writeLines[T any](w http.ResponseWriter, all iter.Seq2[T, error], lineOf func(T) line) {
	w.Header().Set("Content-Type", "application/jsonl")
	out := json.NewEncoder(w)
	for one, err := range all {
		next := line{}
		if err != nil {
			next.Fault = err.Error()
		} else {
			next = lineOf(one)
		}
		if out.Encode(next) != nil || err != nil {
			return
		}
	}
	_ = out.Encode(line{End: true}) // a client that went away is no fault
}
