package cli

import (
	"fmt"
	"strings"
	"testing"
)

// screen is a terminal as people see it: as much of ECMA-48 as heed and plain
// programs write, and DEC's DECSC, DECRC and DECSTBM.
type screen struct {
	rows       [][]byte
	row, col   int
	top, end   int      // rows that scroll
	saved      [2]int   // row and column
	gone       []string // rows that were scrolled out at the top
	unfinished string   // an escape sequence of which a part has come
}

func newScreen(rows, cols int) *screen {
	s := &screen{end: rows}
	for range rows {
		s.rows = append(s.rows, blank(cols))
	}
	return s
}

func blank(cols int) []byte { return []byte(strings.Repeat(" ", cols)) }

func (s *screen) Write(p []byte) (int, error) {
	for _, c := range p {
		switch {
		case s.unfinished != "" || c == 0x1b:
			s.unfinished += string(c)
			if done, err := s.escape(s.unfinished); err != nil {
				return 0, err
			} else if done {
				s.unfinished = ""
			}
		case c == '\r':
			s.col = 0
		case c == '\n':
			s.down()
		case c >= ' ':
			if s.col == len(s.rows[s.row]) {
				s.col = 0
				s.down()
			}
			s.rows[s.row][s.col] = c
			s.col++
		default:
			return 0, fmt.Errorf("an octet that no terminal shows: %#x", c)
		}
	}
	return len(p), nil
}

func (s *screen) escape(text string) (done bool, err error) {
	last := text[len(text)-1]
	if len(text) < 2 || text[1] == '[' && (len(text) == 2 || last < '@') {
		return false, nil
	}
	var a, b int
	switch {
	case text == "\x1bD":
		s.down()
	case text == "\x1bM":
		if s.row == s.top {
			return false, fmt.Errorf("the rows were scrolled down")
		}
		s.row--
	case text == "\x1b7":
		s.saved = [2]int{s.row, s.col}
	case text == "\x1b8":
		s.row, s.col = s.saved[0], s.saved[1]
	case text == "\x1b[2K":
		s.rows[s.row] = blank(len(s.rows[s.row]))
	case text == "\x1b[r":
		s.top, s.end, s.row, s.col = 0, len(s.rows), 0, 0
	case last == 'r':
		_, err = fmt.Sscanf(text, "\x1b[%d;%dr", &a, &b)
		s.top, s.end, s.row, s.col = a-1, b, 0, 0
	case last == 'H':
		_, err = fmt.Sscanf(text, "\x1b[%d;%dH", &a, &b)
		s.row, s.col = a-1, b-1
	default:
		err = fmt.Errorf("a sequence that is not known here: %q", text)
	}
	return true, err
}

// down goes to the next row; from the last one that scrolls, all go up.
func (s *screen) down() {
	switch s.row {
	case s.end - 1:
		s.gone = append(s.gone, strings.TrimRight(string(s.rows[s.top]), " "))
		copy(s.rows[s.top:s.end], s.rows[s.top+1:s.end])
		s.rows[s.end-1] = blank(len(s.rows[s.row]))
	case len(s.rows) - 1: // below those that scroll
	default:
		s.row++
	}
}

// last is what stands in the last row.
func (s *screen) last() string { return strings.TrimRight(string(s.rows[len(s.rows)-1]), " ") }

// text is all that was ever written, as it can be read by scrolling back.
func (s *screen) text() string {
	all := strings.Join(s.gone, "\n")
	for _, row := range s.rows {
		all += "\n" + strings.TrimRight(string(row), " ")
	}
	return strings.Trim(all, "\n")
}

func TestScreenShowsWhatTerminalsDo(t *testing.T) {
	s := newScreen(3, 10)
	for _, p := range []string{"one\r\ntwo\r\nthree\r\nfo", "\x1bD\x1bM\x1b7\x1b[1;2r", "\x1b8\x1b7\x1b[3;1H\x1b[2Kbelow\x1b8", "ur"} {
		if _, err := s.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := s.text(), "one\ntwo\nthree\nfour\nbelow"; got != want {
		t.Errorf("it shows\n%s, want\n%s", got, want)
	}
}
