package cli

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

const (
	fewestRows = 4 // of a terminal that has a row to spare
	fewestCols = 20
)

// bottomLine is a line of text in the last row of a terminal that others write to
// as they please. They have the rows above: while the line is there, those alone
// scroll (DECSTBM), and the cursor is put back to where it was (DECSC, DECRC).
// Where it is nobody can tell, so that a line in the midst of theirs would be
// written into, or over what they wrote. Each change is one write, which the
// terminal does not mix with others'.
type bottomLine struct {
	file *os.File
	rows int    // of the terminal while the line is there; 0: it is not
	text string // that is there
}

// takesLine tells whether a file is a terminal that can have one.
func takesLine(f *os.File) bool {
	name := os.Getenv("TERM")
	return knowsReader && name != "" && name != "dumb" && isTerminal(f)
}

// draw shows a text, as much of it as there is room for. While a program reads
// single keys it has the screen for itself, and there is no line.
func (l *bottomLine) draw(text string) {
	cols, rows, err := term.GetSize(int(l.file.Fd()))
	if err != nil || rows < fewestRows || cols < fewestCols || !readsLines(l.file) {
		l.clear()
		return
	}
	if room := cols - 1; len(text) > room { // it is ASCII
		text = text[:room-3] + "..."
	}
	if rows == l.rows && text == l.text {
		return
	}
	var b strings.Builder
	if rows != l.rows {
		// Down and up again: where the cursor is in the last row, what is there moves
		// up, and the cursor with it.
		fmt.Fprintf(&b, "\x1bD\x1bM\x1b7\x1b[1;%dr\x1b8", rows-1)
	}
	fmt.Fprintf(&b, "\x1b7\x1b[%d;1H\x1b[2K%s\x1b8", rows, text)
	l.rows, l.text = rows, text
	l.write(b.String())
}

func (l *bottomLine) isThere() bool { return l.rows > 0 }

// clear gives the row back, as empty as it was.
func (l *bottomLine) clear() {
	if !l.isThere() {
		return
	}
	l.write(fmt.Sprintf("\x1b7\x1b[%d;1H\x1b[2K\x1b[r\x1b8", l.rows))
	l.rows, l.text = 0, ""
}

// write writes to the terminal. One that is gone needs nothing.
func (l *bottomLine) write(s string) { _, _ = l.file.WriteString(s) }
