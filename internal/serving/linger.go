package serving

import (
	"io"
	"net"
	"time"
)

// lingerTime is how long a client may go on sending after an answer that is the
// last.
const lingerTime = time.Second

// Linger ends the direction to a client and reads on for a while, up to a second:
// where not all of a request was read, the answer would be lost to a reset if the
// connection were closed at once. The caller closes it.
func Linger(c net.Conn) {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	until := time.Now().Add(lingerTime)
	_ = c.SetReadDeadline(until)
	if _, err := io.CopyN(io.Discard, c, drainOctets); err == nil {
		<-time.After(time.Until(until)) // it goes on: what was sent must be read before the reset comes
	}
}
