package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"heed/policy"
)

// Lines are answered in batches: many lines to a batch keep the workers from
// waiting for each other, few octets keep memory small when lines are long.
const (
	batchLines  = 512
	batchOctets = 1 << 20

	// longestLine is well above a robots.txt of the largest size heed reads,
	// in base64.
	longestLine = 128 << 20
)

// batch is some consecutive lines and, once done, their answers.
type batch struct {
	first   int      // number of the first line, from 1
	lines   [][]byte // without their ends; nil for one that was too long
	answers chan []byte
	failed  bool // a line could not be answered; set before answers
}

// answerLines answers queries as a dialect reads robots.txt, line by line, in
// their order, on all processors.
// A line that cannot be answered gets an error in its place; the exit status
// tells in the end.
func answerLines(d policy.Dialect, in io.Reader, out io.Writer) error {
	workers := runtime.GOMAXPROCS(0)
	work := make(chan *batch)
	order := make(chan *batch, 2*workers) // bounds what is read ahead
	stop := make(chan struct{})
	var readErr error
	var running sync.WaitGroup
	running.Go(func() {
		defer close(order)
		defer close(work)
		readErr = readBatches(in, func(b *batch) bool {
			select {
			case order <- b:
				work <- b
				return true
			case <-stop:
				return false
			}
		})
	})
	for range workers {
		running.Go(func() {
			asked := compiled{dialect: d}
			for b := range work {
				asked.answer(b)
			}
		})
	}
	failed, err := writeAnswers(order, out)
	close(stop)
	for b := range order { // after a failed write: let the others end
		<-b.answers
	}
	running.Wait()
	switch {
	case err != nil:
		return fmt.Errorf("writing answers: %w", err)
	case readErr != nil:
		return fmt.Errorf("reading queries: %w", readErr)
	case failed:
		return status(checkUnknown)
	}
	return nil
}

// writeAnswers writes the answers of all batches in their order and reports
// whether a line had none.
func writeAnswers(order <-chan *batch, out io.Writer) (failed bool, err error) {
	w := bufio.NewWriterSize(out, 64<<10)
	for b := range order {
		if _, err := w.Write(<-b.answers); err != nil {
			return failed, err
		}
		failed = failed || b.failed
		if len(order) == 0 { // nothing else is ready: whoever asks one by one waits for this
			if err := w.Flush(); err != nil {
				return failed, err
			}
		}
	}
	return failed, w.Flush()
}

// readBatches cuts the input into batches until its end, or until send returns
// false. A batch ends early when no more input is there yet.
func readBatches(in io.Reader, send func(*batch) bool) error {
	r := bufio.NewReaderSize(in, 256<<10)
	number := 1
	for {
		b := &batch{first: number, answers: make(chan []byte, 1)}
		var err error
		for octets := 0; err == nil && len(b.lines) < batchLines && octets < batchOctets; {
			var line []byte
			line, err = readLine(r)
			if err != nil && len(line) == 0 {
				break
			}
			b.lines = append(b.lines, line)
			octets += len(line)
			if r.Buffered() == 0 {
				break
			}
		}
		number += len(b.lines)
		if len(b.lines) > 0 && !send(b) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns the next line without its end, or nil for one that is too
// long. The error is the reader's and may come with the last line.
func readLine(r *bufio.Reader) ([]byte, error) {
	line := []byte{} // nil means too long
	for {
		part, err := r.ReadSlice('\n')
		if line != nil {
			line = append(line, part...)
		}
		if len(line) > longestLine {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
		}
		return line, err
	}
}
