package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"heed/internal/admin"
)

// Socket returns where in a state directory commands find the heed that runs.
func Socket(stateDir string) string { return filepath.Join(stateDir, "heed.sock") }

// listenControl opens the socket for heed's own user alone. One that nobody
// listens on any more is replaced. It is a convenience of commands: without it
// heed serves all the same, and the log says why.
func listenControl(ctx context.Context, path string, log zerolog.Logger) net.Listener {
	l, err := listenSocket(ctx, path)
	if err != nil {
		log.Warn().Err(err).Msg("heed cache cannot talk to this heed")
		return nil
	}
	return l
}

func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	if err := admin.CheckSocketPath(path); err != nil {
		return nil, err
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is not a socket; move it away", path)
	case answers(ctx, path):
		return nil, fmt.Errorf("another heed listens on %s; give each a state directory of its own (state_dir)", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		// Linux makes the file with this mode, so that nobody else can open it
		// even for a moment.
		controlErr := c.Control(func(fd uintptr) { err = restrict(fd) })
		return errors.Join(controlErr, err)
	}}
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close() // it is of no use
		return nil, err
	}
	return l, nil
}

// answers reports whether somebody listens on a socket.
func answers(ctx context.Context, path string) bool {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	_ = c.Close() // it was only a look
	return true
}

func controlServer(c admin.Cache, p admin.Pace) *http.Server {
	return &http.Server{Handler: admin.NewControl(c, p), ReadHeaderTimeout: 10 * time.Second}
}
