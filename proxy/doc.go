// Package proxy is the path of an exchange: a request comes in, is identified,
// decided on, forwarded or denied, and recorded. It is the only package that
// knows goproxy.
//
// # One path
//
// Every request, however it came in, becomes one in absolute form that goes
// through goproxy's ServeHTTP and the one hook behind it (proxy.go):
//
//   - plain HTTP and https in absolute form, on the proxy's own port;
//   - HTTP/1.1 and HTTP/2 inside a CONNECT that heed intercepts (intercept.go);
//   - plain HTTP inside a CONNECT;
//   - a WebSocket handshake in any of them.
//
// A CONNECT itself is decided in connect.go: refused, relayed unread after a
// decision for the origin as a whole (tunnel.go), or intercepted.
//
// # Stages
//
//	target.go    which origin and which target; malformed ones end here (section.go: in HTTP/2)
//	identify.go  who asks: credentials, address, product tokens
//	permit.go    whether it says who it is, and may ask for this host
//	decide.go    what the origin's robots.txt says
//	override.go  or the operator in its place
//	quota.go     what its client has left
//	report.go    whether what forbids it is reported in place of a denial
//	pace.go      when its turn comes at the origin
//	forward.go   to the origin and back; fields.go, hops.go: what an intermediary removes and adds; upgrade.go: WebSockets
//	deny.go      the answer instead, explained (explain.go), as accept.go says (render.go, page.go)
//	record.go    one audit.Entry, always
//	status.go    heed's own pages
//
// Around them: server.go has what serves clients, in HTTP/1.1 by package serving,
// in HTTP/2 by net/http (inside.go), which stall.go gives limits; exchange.go,
// body.go and writer.go join it to goproxy; either.go takes TLS on the proxy's own
// port; ahead.go begins what a tunnel will need; refusal.go tells of clients that do
// not trust heed, and spare.go of those that only seem so; acknowledge_linux.go
// spares a client a wait of TCP.
//
// # When in doubt
//
// An exchange starts out denied. A panic in a stage is answered with 500 and
// recorded as a denial; an error never leads on to forward.
package proxy
