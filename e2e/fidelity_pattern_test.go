package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// codings are bodies in them. To heed they are octets.
var codings = map[string]string{
	"gzip":    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcaH\xcd\xc9\xc9\x07\x04\x00\x00\xff\xff\x86\xa6\x106\x05\x00\x00\x00",
	"br":      "\x0b\x02\x80hello\x03",
	"zstd":    "\x28\xb5\x2f\xfd\x04\x00\x29\x00\x00hello\x5f\x8b\xd0\xd8",
	"unheard": "\x00\xff\r\n\r\n0\r\n\r\n",
}

// drawn is what bodies are made of: no part of it is like another, and its
// length is not one that buffers have.
var drawn = func() []byte {
	b := make([]byte, 1<<20-3)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(b)
	return b
}()

// patterned is a body of so many octets of drawn, over and over.
type patterned struct{ at, size int64 }

func pattern(size int64) io.Reader { return &patterned{size: size} }

func (p *patterned) Read(b []byte) (int, error) {
	if p.at == p.size {
		return 0, io.EOF
	}
	n := copy(b[:min(int64(len(b)), p.size-p.at)], drawn[p.at%int64(len(drawn)):])
	p.at += int64(n)
	return n, nil
}

// same reads to the end and compares.
func same(got io.Reader, size int64) error {
	buf := make([]byte, 256<<10)
	var at int64
	for {
		n, err := got.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			want := drawn[at%int64(len(drawn)):]
			want = want[:min(len(want), len(b))]
			if !bytes.Equal(b[:len(want)], want) {
				return fmt.Errorf("the octets from %d on are others", at)
			}
			at += int64(len(want))
			b = b[len(want):]
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("after %d octets: %w", at, err)
		}
	}
	if at != size {
		return fmt.Errorf("%d octets came", at)
	}
	return nil
}
