// Package lines works on the lines of a stream on all processors, and hands on
// what comes of them in their order.
//
//	err := lines.Work(os.Stdin, func() func(*lines.Batch) int {
//		return func(b *lines.Batch) int { return len(b.Lines) }
//	}, func(n int, _ bool) error { total += n; return nil })
//
// Memory is bounded: a few batches of at most 512 lines, or of about 1 MiB, are
// under way at a time, and a line is read up to Longest.
package lines

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"sync"
)

// Lines are worked on in batches: many lines to a batch keep the workers from
// waiting for each other, few octets keep memory small when lines are long.
const (
	batchLines  = 512
	batchOctets = 1 << 20
)

// Longest is how long a line may be that is read: well above a robots.txt of the
// largest size that heed reads, in base64.
const Longest = 128 << 20

// Batch is some consecutive lines.
type Batch struct {
	First int      // number of the first, from 1
	Lines [][]byte // without their ends; nil for one that is longer than Longest
}

// Work has workers, one for each processor, make a result of each batch of the
// lines of in. Each worker is made by one call of worker, and has one batch at a
// time. Take is given the results in the order of the lines, from the goroutine
// of Work, and whether another is ready; its first error ends the work, and is
// returned. Any other error is that of reading, and all lines before it were
// worked on.
func Work[R any](in io.Reader, worker func() func(*Batch) R, take func(result R, more bool) error) error {
	type task struct {
		batch  *Batch
		result chan R
	}
	workers := runtime.GOMAXPROCS(0)
	work := make(chan task)
	order := make(chan task, 2*workers) // bounds what is read ahead
	stop := make(chan struct{})
	var readErr error
	var running sync.WaitGroup
	running.Go(func() {
		defer close(order)
		defer close(work)
		readErr = read(in, func(b *Batch) bool {
			t := task{b, make(chan R, 1)}
			select {
			case order <- t:
				work <- t
				return true
			case <-stop:
				return false
			}
		})
	})
	for range workers {
		running.Go(func() {
			do := worker()
			for t := range work {
				t.result <- do(t.batch)
			}
		})
	}
	var takeErr error
	for t := range order {
		result := <-t.result
		if takeErr != nil { // let the others end
			continue
		}
		if takeErr = take(result, len(order) > 0); takeErr != nil {
			close(stop)
		}
	}
	running.Wait()
	if takeErr != nil {
		return takeErr
	}
	return readErr
}

// read cuts the input into batches until its end, or until send returns false.
// A batch ends early when no more input is there yet.
func read(in io.Reader, send func(*Batch) bool) error {
	r := bufio.NewReaderSize(in, 256<<10)
	number := 1
	for {
		b := &Batch{First: number}
		var err error
		for octets := 0; err == nil && len(b.Lines) < batchLines && octets < batchOctets; {
			var line []byte
			line, err = readLine(r)
			if err != nil && len(line) == 0 {
				break
			}
			b.Lines = append(b.Lines, line)
			octets += len(line)
			if r.Buffered() == 0 {
				break
			}
		}
		number += len(b.Lines)
		if len(b.Lines) > 0 && !send(b) {
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
		if len(line) > Longest {
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
