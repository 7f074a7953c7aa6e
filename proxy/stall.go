package proxy

import (
	"net/http"
	"time"

	"heed/internal/stall"
)

// bound has an exchange in HTTP/2 given up where its client takes no part of the
// answer, or sends none of the body, within the idle time. In HTTP/1.1
// internal/serving sees to it.
func (x *exchange) bound(limit time.Duration) {
	control := http.NewResponseController(x.w.ResponseWriter)
	x.w.stall = &stall.Watch{Limit: limit, Late: func() { _ = control.SetWriteDeadline(longAgo) }} // the server has both
	x.body.stall = &stall.Watch{Limit: limit, Late: func() { _ = control.SetReadDeadline(longAgo) }}
}

var longAgo = time.Unix(1, 0)

// unbound ends that before the handler returns: net/http's ResponseWriter must
// not be touched after it, and a body may still be read. What net/http has left
// to send, it sends behind the handler, within the same time.
func (x *exchange) unbound() {
	if w := x.w.stall; w != nil {
		x.body.stall.End()
		w.End()
		_ = http.NewResponseController(x.w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.Limit))
	}
}
