package proxy

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"time"

	"heed/internal/serving"
)

// malformed records a request that could not be read, as a denial like any
// other, and returns what to answer.
func (p *Proxy) malformed(conn net.Conn, f *serving.Fault) []byte {
	c, ok := conn.(*clientConn)
	if !ok {
		panic(errNotOurPath)
	}
	r := requestOf(f.Section)
	r.RemoteAddr = c.RemoteAddr().String()
	x := &exchange{tunnel: c.tunnel, in: r.WithContext(context.Background()), entry: newEntry(c, r)}
	if c.tunnel != nil {
		x.isOf(c.tunnel.named)
	}
	x.err = p.problemOfHead(f)
	defer p.record(x)
	resp := p.deny(x)
	resp.Close = true
	resp.Header["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	var b bytes.Buffer
	if err := resp.Write(&b); err != nil {
		p.Log.Error().Err(err).Msg("writing an answer to a malformed request") // a buffer takes anything
	}
	x.entry.Status, x.entry.BytesOut = resp.StatusCode, resp.ContentLength
	return b.Bytes()
}
