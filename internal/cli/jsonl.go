package cli

import (
	"bufio"
	"fmt"
	"io"

	"heed/internal/lines"
	"heed/policy"
)

// answers are those to the lines of a batch.
type answers struct {
	octets []byte
	failed bool // a line could not be answered
}

// answerLines answers queries as a dialect reads robots.txt, line by line, in
// their order, on all processors.
// A line that cannot be answered gets an error in its place; the exit status
// tells in the end.
func answerLines(d policy.Dialect, in io.Reader, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	failed := false
	var writeErr error
	err := lines.Work(in, func() func(*lines.Batch) answers {
		asked := compiled{dialect: d}
		return asked.answer
	}, func(a answers, more bool) error {
		failed = failed || a.failed
		if _, writeErr = w.Write(a.octets); writeErr == nil && !more { // whoever asks one by one waits for this
			writeErr = w.Flush()
		}
		return writeErr
	})
	if writeErr == nil {
		writeErr = w.Flush()
	}
	switch {
	case writeErr != nil:
		return fmt.Errorf("writing answers: %w", writeErr)
	case err != nil:
		return fmt.Errorf("reading queries: %w", err)
	case failed:
		return status(checkUnknown)
	}
	return nil
}
