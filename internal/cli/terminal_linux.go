package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// knowsReader says that readsLines can tell.
const knowsReader = true

// readsLines tells whether a terminal gives its programs whole lines. A program
// that wants each key, such as an editor or a shell's prompt, has changed that.
func readsLines(f *os.File) bool {
	t, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil && t.Lflag&unix.ICANON != 0
}
