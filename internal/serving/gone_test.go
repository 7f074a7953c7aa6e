package serving_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// longBody is more than a connection's buffer holds, and less than the system's.
const longBody = 20 << 10

// TestClientThatGoesAwayBehindItsBodyEndsTheContext, though nobody has read the
// body, or not all of it: inside TLS, too, and however much of it has come.
func TestClientThatGoesAwayBehindItsBodyEndsTheContext(t *testing.T) {
	for _, test := range []struct {
		why, request string
		linux        bool // where the end is seen only by asking the system
	}{
		{"whole", post("/", "hello"), false},
		{"whole, in chunks", chunked("/", "5\r\nhello\r\n0\r\n\r\n"), false},
		{"whole, and a request", post("/", "hello") + get("/next"), false},
		{"a part", part("/", "hello"), false},
		{"a part, in chunks", chunked("/", "5\r\nhello\r\n1000\r\nhel"), false},
		{"nothing", part("/", ""), false},
		{"nothing, which is to be asked for", part("/", "", "Expect: 100-continue\r\n"), false},
		{"nothing in chunks, which is to be asked for", chunked("/", "", "Expect: 100-continue\r\n"), false},
		{"more than the buffer holds", post("/", repeat("x", longBody)), true},
		{"more than the buffer holds, in chunks", chunked("/", repeat("5\r\nhello\r\n", longBody/10)), true},
		{"requests that the buffer does not hold", repeat(get("/"), longBody/40), true},
		{"what is read of in part", post("/part", repeat("x", longBody)), true},
		{"a part, read of in part", part("/part", repeat("x", longBody)), true},
		{"chunks, read of in part", chunked("/part", repeat("5\r\nhello\r\n", longBody/10)), true},
	} {
		t.Run(test.why, func(t *testing.T) {
			if test.linux && runtime.GOOS != "linux" {
				t.Skip("this system does not tell")
			}
			t.Parallel()
			var all []*leaver
			for channel, begin := range channels {
				for how, leave := range leaves {
					l := &leaver{name: channel + ", " + how, leave: leave, entered: make(chan struct{}), ended: make(chan struct{})}
					l.c, l.below = begin(t, l.wait)
					l.c.send(test.request)
					all = append(all, l)
				}
			}
			for _, l := range all {
				<-l.entered
			}
			time.Sleep(250 * time.Millisecond) // they are watched by then
			for _, l := range all {
				select {
				case <-l.ended:
					t.Errorf("%s: the context has ended before", l.name)
				default:
					l.leave(l.c, l.below)
				}
			}
			until := time.Now().Add(10 * time.Second)
			for _, l := range all {
				select {
				case <-l.ended:
				case <-time.After(time.Until(until)):
					t.Errorf("%s: the context goes on", l.name)
				}
			}
		})
	}
}

// leaver is a client that goes away, and the handler of its request.
type leaver struct {
	name           string
	c, below       *client
	leave          func(c, below *client)
	entered, ended chan struct{}
}

// wait reads of what is sent to /part, and waits for the end.
func (l *leaver) wait(_ http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/part" {
		_, _ = io.ReadFull(r.Body, make([]byte, 10))
	}
	close(l.entered)
	select {
	case <-r.Context().Done():
		close(l.ended)
	case <-time.After(20 * time.Second):
	}
	panic(http.ErrAbortHandler)
}

// part is a request with a part of a body of a MiB.
func part(target, body string, fields ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a.example\r\n%sContent-Length: %d\r\n\r\n%s", target, strings.Join(fields, ""), 1<<20, body)
}

// channels begin a connection, and say what is below it.
var channels = map[string]func(t *testing.T, handler http.HandlerFunc) (c, below *client){
	"plain": func(t *testing.T, handler http.HandlerFunc) (c, below *client) {
		c = start(t, handler).client()
		return c, c
	},
	"TLS": func(t *testing.T, handler http.HandlerFunc) (c, below *client) {
		c, cut := startTLS(t, handler)
		return c, cut.Conn.(*client)
	},
}

// leaves are how a client goes away.
var leaves = map[string]func(c, below *client){
	"closed":                  func(c, _ *client) { _ = c.Close() },
	"closed without farewell": func(_, below *client) { _ = below.Close() },
	"closed in one direction": func(_, below *client) { below.closeWrite() },
	"reset": func(_, below *client) {
		_ = below.Conn.(interface{ SetLinger(int) error }).SetLinger(0)
		_ = below.Close()
	},
}

// TestBodyIsWholeBehindAWatch: what the watch has read is the body's, and what
// follows the next request's. A client that takes its time is not gone.
func TestBodyIsWholeBehindAWatch(t *testing.T) {
	sizes := []int{1, 4000, 4096, longBody, 300 << 10}
	for _, way := range []string{"whole", "late", "slow"} {
		for channel, begin := range channels {
			t.Run(way+", "+channel, func(t *testing.T) {
				t.Parallel()
				var all []*client
				for _, size := range sizes {
					c, _ := begin(t, slowEcho(t))
					all = append(all, c)
					body := octets(size)
					request := post("/a", body)
					head := len(request) - size
					switch way {
					case "whole":
						c.send(request)
					case "late":
						c.send(request[:head])
						time.Sleep(150 * time.Millisecond)
						c.send(request[head:])
					case "slow":
						c.send(request[:head+size/3])
						time.Sleep(700 * time.Millisecond)
						c.send(request[head+size/3:])
					}
					c.send(chunked("/b", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)) + get("/c"))
				}
				for i, c := range all {
					c.says(http.StatusOK, "POST /a "+octets(sizes[i]))
					c.says(http.StatusOK, "POST /b "+octets(sizes[i]))
					c.says(http.StatusOK, "GET /c ")
				}
			})
		}
	}
}

// slowEcho begins to read when the client is watched.
func slowEcho(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(250 * time.Millisecond)
		if err := r.Context().Err(); err != nil {
			t.Errorf("ended: %v", err)
		}
		echo(w, r)
	}
}

// octets are of a kind that shows where some are missing.
func octets(n int) string {
	var s strings.Builder
	for i := 0; s.Len() < n; i++ {
		fmt.Fprint(&s, i, " ")
	}
	return s.String()[:n]
}
