package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// A body in the file stands under its SHA-256, which is its checksum too:
//
//	version (1 octet), coding (1 octet), size (uvarint), the octets coded
//
// zstd takes a third of gzip's time to read, at the same size (measured on
// 4,000 real files: 21 % of 14 MB, 6 µs a file).
const (
	bodyVersion = 1

	codingPlain = 0 // where zstd makes it no smaller
	codingZstd  = 1
)

// largestBody bounds what a damaged size can make heed allocate. It is above
// any limit that the configuration takes for a robots.txt.
const largestBody = 128 << 20

// coder compresses bodies. An encoder is for the writer alone, the decoder for
// all.
type coder struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCoder() (*coder, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(largestBody), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &coder{encoder: e, decoder: d}, nil
}

// close frees what the coder holds. Nothing may use it any more.
func (c *coder) close() {
	_ = c.encoder.Close() // it has no writer that could fail
	c.decoder.Close()
}

func (c *coder) encode(body []byte) []byte {
	head := binary.AppendUvarint([]byte{bodyVersion, codingZstd}, uint64(len(body)))
	coded := c.encoder.EncodeAll(body, head)
	if len(coded)-len(head) < len(body) {
		return coded
	}
	head[1] = codingPlain
	return append(head[:len(head):len(head)], body...)
}

// decode reads what encode wrote of the body with a sum, and nothing else. The
// result is never nil and shares no memory with b.
func (c *coder) decode(sum [sha256.Size]byte, b []byte) ([]byte, error) {
	size, coded, err := splitBody(b)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, size)
	switch b[1] {
	case codingPlain:
		body = append(body, coded...)
	case codingZstd:
		if body, err = c.decoder.DecodeAll(coded, body); err != nil {
			return nil, fmt.Errorf("decoding it: %w", err)
		}
	default:
		return nil, fmt.Errorf("it has the coding %d, which this heed does not know", b[1])
	}
	if uint64(len(body)) != size || sha256.Sum256(body) != sum {
		return nil, errChecksum
	}
	return body, nil
}

// splitBody returns the size of a body and its coded octets.
func splitBody(b []byte) (size uint64, coded []byte, err error) {
	if len(b) < 3 {
		return 0, nil, errShort
	}
	if b[0] != bodyVersion {
		return 0, nil, fmt.Errorf("it has the version %d, which this heed does not know", b[0])
	}
	size, n := binary.Uvarint(b[2:])
	if n <= 0 {
		return 0, nil, errShort
	}
	if size > largestBody {
		return 0, nil, errors.New("its size is larger than any body's")
	}
	return size, b[2+n:], nil
}
