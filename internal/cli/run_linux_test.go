package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// On a terminal Ctrl-C reaches the command by itself, as one of the foreground
// process group: heed must not send it another, and must outlive it to return
// its status.
func TestCtrlCReachesTheCommandByTheTerminalAlone(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		command []string
		signals int
	}{
		{"the terminal's, and no second one", []string{"count-signals"}, 1},
		{"none, since it left the terminal's group and heed passes none on", []string{"count-signals", "alone"}, 0},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			code, said := interrupted(t, tt.command)
			if code != 40+tt.signals {
				t.Errorf("exit status %d, want 40 and %d for the signals\n%s", code, tt.signals, said)
			}
			if !strings.Contains(said, "heed: 0 requests") {
				t.Errorf("heed ended without its summary:\n%s", said)
			}
		})
	}
}

// interrupted runs a command under heed run on a terminal, types Ctrl-C when it
// is ready, and returns heed's exit status and what was said.
func interrupted(t *testing.T, command []string) (code int, text string) {
	master, slave := terminal(t)
	heed := exec.Command("heed", append([]string{"run", "--"}, command...)...)
	heed.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME=")
	heed.Stdin, heed.Stdout, heed.Stderr = slave, slave, slave
	heed.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := heed.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	ended := make(chan error, 1)
	go func() { ended <- heed.Wait() }()
	t.Cleanup(func() { _ = heed.Process.Kill() }) // it has ended, unless the test failed

	said := make(chan string)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(master); lines.Scan(); { // ends when the last process does
			said <- strings.TrimSuffix(lines.Text(), "\r")
		}
	}()
	for line := range said {
		text += line + "\n"
		if line == "ready" {
			if _, err := master.WriteString("\x03"); err != nil {
				t.Fatal(err)
			}
		}
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatalf("heed run has not ended:\n%s", text)
	}
	return heed.ProcessState.ExitCode(), text
}

// terminal returns both ends of a new pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}
