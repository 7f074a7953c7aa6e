package logfile

import (
	"bytes"
	"io"
)

// write gives lines to Out and returns how many of them are lost.
func (w *Writer) write(lines []byte) (lost int, err error) {
	if err = w.mend(); err == nil {
		lines, err = w.pass(lines)
	}
	if err == nil {
		return 0, nil
	}
	lost = bytes.Count(lines, newline)
	if w.cause == nil {
		w.config.Failed(err)
	}
	w.missing += lost
	w.cause = err
	return lost, err
}

var newline = []byte("\n")

// mend says what is missing, after a line that was cut.
func (w *Writer) mend() error {
	if w.missing == 0 {
		return nil
	}
	var said []byte
	if w.torn {
		said = append(said, newline...)
	}
	if w.config.Missing != nil {
		said = append(said, w.config.Missing(w.missing, w.cause)...)
	}
	if len(said) > 0 {
		if n, err := w.config.Out.Write(said); err != nil {
			w.torn = w.torn && n == 0 || n > 0 && said[n-1] != '\n'
			return err
		}
	}
	w.missing, w.torn = 0, false
	return nil
}

// pass gives lines to Out. It returns those that Out did not take.
func (w *Writer) pass(lines []byte) ([]byte, error) {
	for len(lines) > 0 {
		part := w.part(lines)
		n, err := w.config.Out.Write(part)
		if err == nil && n < len(part) {
			err = io.ErrShortWrite
		}
		if err != nil {
			w.torn = n > 0 && part[n-1] != '\n'
			return lines[n:], err
		}
		lines = lines[len(part):]
	}
	return nil, nil
}

// part is the first lines that may be written together.
func (w *Writer) part(lines []byte) []byte {
	most := w.config.AtOnce
	if most <= 0 || len(lines) <= most {
		return lines
	}
	if end := bytes.LastIndexByte(lines[:most], '\n'); end >= 0 {
		return lines[:end+1]
	}
	if end := bytes.IndexByte(lines, '\n'); end >= 0 {
		return lines[:end+1] // one line alone has more
	}
	return lines
}
