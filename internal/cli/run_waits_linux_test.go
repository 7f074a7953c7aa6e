package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var aboutTwo = regexp.MustCompile(`waited (1\.[0-9]|2\.[0-9]) s`)

// TestALineAtTheBottomTellsOfAWait: it comes when a request has waited for a
// second, goes when none does, and whatever the command writes meanwhile, parts of
// lines too, stands there as if it had been alone.
func TestALineAtTheBottomTellsOfAWait(t *testing.T) {
	t.Parallel()
	const rows, lines = 8, 60
	command := fmt.Sprintf(`fetch http://a.example/ >page & i=0; while [ $i -lt %d ]; do printf "line %%d" $i; sleep 0.04; echo " ends"; i=$((i+1)); done; wait; printf "no end"`, lines)
	at := runOnTerminal(t, rows, 90, "sh", "-c", command)
	seen, gone := false, false
	for line := range at.steps {
		if is := strings.HasPrefix(line, "heed: a.example is asked every 2 s (Crawl-delay): 1 request waits, the next goes in "); is {
			seen, gone = true, false
		} else if strings.HasPrefix(line, "heed: a.example") {
			t.Errorf("the line is %q", line)
		} else {
			gone = true
		}
	}
	if !seen || !gone {
		t.Errorf("the line was seen: %v, and gone: %v", seen, gone)
	}
	if code := at.wait(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d ends\n", i)
	}
	want.WriteString("no endheed: 1 request, 1 forwarded, 0 denied\nheed: waited 2 s at http://a.example, 1 request, Crawl-delay 2 s")
	// On a busy machine a part of the two seconds is over when the request asks for
	// its turn.
	if got := aboutTwo.ReplaceAllString(at.screen.text(), "waited 2 s"); got != want.String() {
		t.Errorf("in the end there stands\n%s, want\n%s", got, want.String())
	}
	if at.screen.top != 0 || at.screen.end != rows {
		t.Errorf("rows %d to %d scroll, of %d", at.screen.top, at.screen.end, rows)
	}
}

// TestNoLineWhereItCouldDoHarm: then a line is written once, or nothing is.
func TestNoLineWhereItCouldDoHarm(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		env     string
		command string
		lines   int // that tell of the wait
	}{
		{"a terminal that takes no commands", "TERM=dumb", "fetch http://a.example/ >page", 1},
		{"a program that has the screen for itself", "TERM=xterm", "stty -icanon; fetch http://a.example/ >page; stty icanon", 0},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			at := runOnTerminal(t, 12, 120, "env", tt.env, "sh", "-c", tt.command)
			for range at.steps {
			}
			if code := at.wait(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			got := at.screen.text()
			if strings.Contains(at.written.String(), "\x1b") {
				t.Errorf("the terminal was commanded: %q", at.written.String())
			}
			if n := strings.Count(got, "is asked every"); n != tt.lines {
				t.Errorf("%d lines tell of the wait, want %d:\n%s", n, tt.lines, got)
			}
		})
	}
}

// TestCtrlZLeavesNoLine: the shell that goes on finds its screen as it was, and
// heed goes on when it is told to.
func TestCtrlZLeavesNoLine(t *testing.T) {
	t.Parallel()
	at := runOnTerminal(t, 8, 90, "sh", "-c", "fetch http://a.example/ >page; echo done")
	for line := range at.steps {
		if !strings.HasPrefix(line, "heed: a.example") {
			continue
		}
		if err := syscall.Kill(-at.heed.Process.Pid, syscall.SIGTSTP); err != nil { // as the terminal does
			t.Fatal(err)
		}
		break
	}
	for line := range at.steps { // what comes before it has stopped
		if line == "" {
			break
		}
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(at.heed.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Errorf("it has not stopped: %v, %v", status, err)
	}
	at.mu.Lock()
	if at.screen.end != 8 || at.screen.text() != "" {
		t.Errorf("there is left\n%s, and %d rows scroll", at.screen.text(), at.screen.end)
	}
	at.mu.Unlock()
	if err := syscall.Kill(-at.heed.Process.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for range at.steps {
	}
	if code := at.wait(); code != 0 || !strings.HasPrefix(at.screen.text(), "done\nheed: 1 request, 1 forwarded") {
		t.Errorf("exit status %d:\n%s", code, at.screen.text())
	}
}

// onTerminal is a heed run on a terminal.
type onTerminal struct {
	heed    *exec.Cmd
	mu      sync.Mutex
	screen  *screen
	written strings.Builder
	steps   chan string // the last row, after each part that was written; closed at the end
	ended   chan error
	t       *testing.T
}

// runOnTerminal runs a command through heed run on a terminal, with an origin that
// asks for two seconds. env VARIABLE=VALUE before the command is for heed, too.
func runOnTerminal(t *testing.T, rows, cols int, command ...string) *onTerminal {
	t.Helper()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "User-agent: *\nCrawl-delay: 2\n")
	}))
	t.Cleanup(origin.Close)
	master, slave := terminal(t)
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)}); err != nil {
		t.Fatal(err)
	}
	variable := "TERM=xterm"
	if command[0] == "env" {
		variable, command = command[1], command[2:]
	}
	args := append([]string{"run", "--connect-to", "::" + strings.TrimPrefix(origin.URL, "http://"), "--"}, command...)
	at := &onTerminal{heed: exec.Command("heed", args...), screen: newScreen(rows, cols), steps: make(chan string), ended: make(chan error, 1), t: t}
	dir := t.TempDir()
	at.heed.Dir, at.heed.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", variable)
	at.heed.Stdin, at.heed.Stdout, at.heed.Stderr = slave, slave, slave
	at.heed.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := at.heed.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	t.Cleanup(func() { _ = at.heed.Process.Kill() }) // it has ended, unless the test failed
	go at.read(master)
	return at
}

func (at *onTerminal) read(master *os.File) {
	defer close(at.steps)
	room := make([]byte, 4096)
	for {
		n, err := master.Read(room)
		at.mu.Lock()
		at.written.Write(room[:n])
		_, bad := at.screen.Write(room[:n])
		last := at.screen.last()
		at.mu.Unlock()
		if bad != nil {
			at.t.Errorf("%v", bad)
			return
		}
		if n > 0 {
			at.steps <- last
		}
		if err != nil { // EIO: the last process has closed it
			if !errors.Is(err, syscall.EIO) {
				at.t.Errorf("%v", err)
			}
			return
		}
	}
}

func (at *onTerminal) wait() int {
	at.t.Helper()
	go func() { at.ended <- at.heed.Wait() }()
	select {
	case <-at.ended:
	case <-time.After(20 * time.Second):
		at.t.Fatal("heed run has not ended")
	}
	return at.heed.ProcessState.ExitCode()
}
