package proxy

import (
	"net"
	"runtime/debug"
	"time"

	"heed/internal/audit"
	"heed/internal/relay"
)

// quietFor is how many idle times an unread tunnel may be quiet. What is in it
// may be a connection that its ends keep for later, as browsers do.
const quietFor = 5

// relay carries both directions of an unread tunnel until both have ended, or
// nothing moved in either for quietFor idle times, or one end took nothing for
// the idle time. It returns at once: the goroutine that serves the
// client holds a buffer and a deep stack, and an open tunnel should
// cost next to nothing. From here on the exchange belongs to the tunnel, and is
// recorded when that ends.
func (p *Proxy) relay(x *exchange, upstream net.Conn) {
	x.entry.Verdict = audit.Forwarded
	client := x.w.conn
	if err := p.sendEarly(client, upstream); err != nil {
		_ = client.Close()
		return
	}
	x.left = true
	x.settleQuota(audit.Forwarded)
	e, account := x.entry, x.quotaAccount() // of the exchange nothing else stays
	p.work.enter()                          // before the caller leaves: Shutdown waits for the record
	limits := relay.Limits{Stalled: p.Timeouts.Idle, Quiet: quietFor}
	relay.Start(lowest(client.Conn), upstream, limits, func(received, sent int64) {
		e.BytesIn = client.received.Load() + received
		e.BytesOut = client.sent.Load() + sent
		carried(account, e)
		p.endTunnel(e, client)
	})
}

// sendEarly gives the origin what was read of the client's already.
func (p *Proxy) sendEarly(client *rawConn, upstream net.Conn) error {
	_ = upstream.SetDeadline(time.Now().Add(p.Timeouts.Idle))
	n, err := upstream.Write(client.early)
	client.received.Add(int64(n))
	client.early = nil
	_ = upstream.SetDeadline(time.Time{})
	_ = client.SetDeadline(time.Time{})
	return err
}

// endTunnel records a tunnel that has ended. Nobody above recovers from a
// panic here, and others are not to end with it.
func (p *Proxy) endTunnel(e *audit.Entry, client *rawConn) {
	defer p.work.leave()
	defer func() {
		if cause := recover(); cause != nil {
			p.Log.Error().Str("panic", sprintf("%v", []any{cause})).Bytes("stack", debug.Stack()).Msg("recording a tunnel panicked")
		}
	}()
	defer p.account(e)
	_ = client.Close()
}

// lowest is the client's connection without what heed has put around it to
// look at it. Where the client speaks TLS with heed itself, that stays.
func lowest(c net.Conn) net.Conn {
	if either, ok := c.(*eitherConn); ok {
		return either.spoken()
	}
	return c
}
