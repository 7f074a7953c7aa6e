package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"heed/internal/origin"
	"heed/internal/pace"
)

// Pace tells where requests wait for their turn; a *pace.Pacer is one.
type Pace interface {
	State(limit int) pace.State
	HostState(host string) (pace.Host, bool)
}

const (
	pathPace = "/pace"

	// hostsTold is how many hosts are told of if nobody says, MostHosts at most.
	hostsTold = 100

	// MostHosts is how many hosts are told of at most.
	MostHosts = 1000
)

// writePace answers with the state of the hosts that a request asks for. One of
// which nothing is known is no fault: it can be asked at any time.
func writePace(w http.ResponseWriter, r *http.Request, p Pace) {
	limit, host, err := wantedHosts(r)
	if err != nil {
		text(w, http.StatusBadRequest, err.Error())
		return
	}
	s := p.State(limit)
	if host != "" {
		if h, known := p.HostState(host); known {
			s.Hosts = append(s.Hosts, h)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(s) // a client that went away is no fault
}

// wantedHosts reads how many hosts a request asks for, or which one.
func wantedHosts(r *http.Request) (limit int, host string, err error) {
	if name := r.FormValue("host"); name != "" {
		o, err := origin.Parse("http", name)
		if err != nil {
			return 0, "", fmt.Errorf("host is %q, which is no host: %w", name, err)
		}
		return 0, o.Host, nil
	}
	if !r.Form.Has("limit") {
		return hostsTold, "", nil
	}
	limit, err = strconv.Atoi(r.FormValue("limit"))
	if err != nil || limit < 0 || limit > MostHosts {
		return 0, "", fmt.Errorf("limit is %q; write a number from 0 to %d", r.FormValue("limit"), MostHosts)
	}
	return limit, "", nil
}
