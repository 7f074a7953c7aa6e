package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"heed/policy"
)

// defaultData is where the real files lie: beside the checkout, since they are
// other people's. It is seen from the top of this module.
const defaultData = "../../shared/conformance/real-dev.jsonl.gz"

// file is one real robots.txt and what is asked of it.
type file struct {
	ID      string  `json:"id"`
	Body    []byte  `json:"robots_b64"`
	Queries []query `json:"q"`

	text string // Body, for who reads strings
}

// query is one question, and what the data say is the right answer. Everything
// that a participant needs to be asked is made beforehand.
type query struct {
	url    string
	agent  string
	tokens []string // agent alone
	target string   // the path and query of url

	google bool // the verdict of Google's parser
	heed   bool // the verdict of heed's own reading
}

// UnmarshalJSON reads [agent, url, allowed, line, tag, heed, heed_line], the
// verdicts being 0 or 1.
func (q *query) UnmarshalJSON(data []byte) error {
	var google, heed int
	var unused json.RawMessage
	fields := []any{&q.agent, &q.url, &google, &unused, &unused, &heed, &unused}
	want := len(fields)
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != want {
		return fmt.Errorf("a query has %d fields, want %d", len(fields), want)
	}
	q.google, q.heed = google == 1, heed == 1
	q.tokens = []string{q.agent}
	q.target = policy.TargetOf(q.url)
	return nil
}

// corpus is a set of files in their order.
type corpus struct {
	files   []*file
	queries int
	octets  int // of all bodies
}

func (c *corpus) add(f *file) {
	c.files = append(c.files, f)
	c.queries += len(f.Queries)
	c.octets += len(f.Body)
}

// without returns the files that are in none of the sets.
func (c *corpus) without(sets ...map[*file]error) *corpus {
	kept := &corpus{}
next:
	for _, f := range c.files {
		for _, set := range sets {
			if set[f] != nil {
				continue next
			}
		}
		kept.add(f)
	}
	return kept
}

// pack puts what is asked side by side in memory, in the order in which it is
// asked. A proxy has just read the target that it asks about; a query whose
// texts lie all over the heap would make everybody's first cost that of waiting
// for them.
func (c *corpus) pack() {
	var text strings.Builder
	tokens := make([]string, 0, c.queries)
	for _, f := range c.files {
		for i := range f.Queries {
			text.WriteString(f.Queries[i].agent)
			text.WriteString(f.Queries[i].target)
		}
	}
	rest := text.String()
	take := func(n int) (s string) {
		s, rest = rest[:n], rest[n:]
		return s
	}
	for _, f := range c.files {
		for i := range f.Queries {
			q := &f.Queries[i]
			q.agent, q.target = take(len(q.agent)), take(len(q.target))
			tokens = append(tokens, q.agent)
			q.tokens = tokens[len(tokens)-1:]
		}
	}
}

// readCorpus reads gzip'd JSON Lines. Files without a query are none of ours:
// there is nothing to ask of them.
func readCorpus(name string) (*corpus, error) {
	packed, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the real robots.txt files are missing: there is no %s; "+
			"nothing was measured, name the place of real-dev.jsonl.gz with -data", name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the real robots.txt files: %w", err)
	}
	c, err := unpackCorpus(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	c.pack()
	return c, nil
}

func unpackCorpus(packed io.Reader) (*corpus, error) {
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	c := &corpus{}
	lines := bufio.NewReaderSize(unpacked, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			f := &file{}
			if err := json.Unmarshal(line, f); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			f.text = string(f.Body)
			if len(f.Queries) > 0 {
				c.add(f)
			}
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("line %d: %w", n, err)
		case c.queries == 0:
			return nil, errors.New("it holds no queries")
		default:
			return c, nil
		}
	}
}
