package serving_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// idleConns is how many connections TestMemoryOfIdleConnections opens. Their
// other ends are in another process: 10,000 take the descriptors of both.
const idleConns = 2000

// TestMemoryOfIdleConnections counts what connections take that have had a
// request answered and wait for the next: heap and stacks.
func TestMemoryOfIdleConnections(t *testing.T) {
	if addr := os.Getenv("SERVING_TEST_IDLE"); addr != "" {
		hold(t, addr)
		return
	}
	n := idleConns
	if s := os.Getenv("SERVING_TEST_CONNS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	s := start(t, deep)
	c := s.client()
	addr := c.RemoteAddr().String()
	c.send(get("/"))
	c.says(http.StatusOK, "ok")
	before := inUse()

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryOfIdleConnections$")
	cmd.Env = append(os.Environ(), "SERVING_TEST_IDLE="+addr, "SERVING_TEST_CONNS="+strconv.Itoa(n))
	stop, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for s.Conns() < n {
		time.Sleep(10 * time.Millisecond)
	}
	each := (inUse() - before) / n
	t.Logf("%d idle connections take %d octets each", n, each)
	if each > idleMost {
		t.Errorf("an idle connection takes %d octets, more than %d", each, idleMost)
	}
	_ = stop.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// deep answers from a stack as high as a handler's that does something.
func deep(w http.ResponseWriter, _ *http.Request) {
	var fill func(int) byte
	fill = func(n int) byte {
		var room [1024]byte
		if n == 0 {
			return room[0]
		}
		return fill(n-1) + room[n]
	}
	if fill(12) == 0 {
		text(w, http.StatusOK, "ok")
	}
}

// hold is the other process: it has a request answered on each connection, and
// keeps them until its input ends.
func hold(t *testing.T, addr string) {
	n, err := strconv.Atoi(os.Getenv("SERVING_TEST_CONNS"))
	if err != nil {
		t.Fatal(err)
	}
	conns := make([]net.Conn, n)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", addr); err != nil {
			t.Fatal(err)
		}
		_, _ = conns[i].Write([]byte(get("/")))
		if _, err := conns[i].Read(make([]byte, 500)); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = os.Stdout.Write([]byte{'.'})
	_, _ = os.Stdin.Read(make([]byte, 1))
	for _, c := range conns {
		_ = c.Close()
	}
}

// inUse is the memory of the heap and of stacks, when what is garbage was
// collected, and stacks were made as small as they can be.
func inUse() int {
	var m runtime.MemStats
	for range 6 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}
