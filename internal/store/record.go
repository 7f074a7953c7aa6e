package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"heed/fetch"
	"heed/policy"
)

// A record in the file is
//
//	version (1 octet), fields, checksum (8 octets)
//
// The checksum is the beginning of the SHA-256 of the key and of all before it:
// neither a record that was changed nor one that stands under another's key is
// read. Numbers are varints, texts have their length before them.
const (
	recordVersion = 1
	checksumSize  = 8
)

// accessCodes are the access results as the file has them. None is 0, so that
// an octet that was wiped out is not read as one.
var accessCodes = map[policy.Access]byte{policy.Successful: 1, policy.Unavailable: 2, policy.Unreachable: 3}

var (
	errChecksum = errors.New("its checksum is wrong")
	errShort    = errors.New("it ends too early")
	errField    = errors.New("a field has a value that it cannot have")
)

// kept is a record as the file has it: without its body, whose size it knows.
type kept struct {
	fetch.Record
	size uint64 // octets of the body
}

func encodeRecord(key []byte, r *kept) ([]byte, error) {
	code, known := accessCodes[r.Access]
	if !known {
		return nil, fmt.Errorf("access result %s: %w", r.Access, errField)
	}
	b := make([]byte, 0, 160+len(r.ETag)+len(r.Err))
	b = append(b, recordVersion, code)
	b = binary.AppendVarint(b, int64(r.Status))
	if r.Sum == ([sha256.Size]byte{}) {
		b = append(b, 0)
	} else {
		b = append(append(b, 1), r.Sum[:]...)
		b = binary.AppendUvarint(b, r.size)
	}
	for _, text := range []string{r.Charset, r.ETag, r.LastModified, r.Err} {
		b = appendText(b, text)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Hops)))
	for _, hop := range r.Hops {
		b = appendText(b, hop)
	}
	for _, at := range []time.Time{r.Fetched, r.FreshUntil, r.Checked, r.Retry} {
		b = appendTime(b, at)
	}
	b = binary.AppendVarint(b, int64(r.FreshFor))
	b = binary.AppendVarint(b, int64(r.Attempts))
	return append(b, checksum(key, b)...), nil
}

func checksum(key, b []byte) []byte {
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(key))))
	h.Write(key)
	h.Write(b)
	return h.Sum(nil)[:checksumSize]
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	b = binary.AppendVarint(append(b, 1), t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}

// decodeRecord reads what encodeRecord wrote for the same key, and nothing
// else. What it returns shares no memory with b.
func decodeRecord(key, b []byte) (*kept, error) {
	if len(b) < 1+checksumSize {
		return nil, errShort
	}
	if b[0] != recordVersion {
		return nil, fmt.Errorf("it has the version %d, which this heed does not know", b[0])
	}
	end := len(b) - checksumSize
	if !bytes.Equal(checksum(key, b[:end]), b[end:]) {
		return nil, errChecksum
	}
	f := fields{b: b[1:end]}
	r := &kept{}
	r.Access = f.access()
	r.Status = int(f.number())
	if f.octet() == 1 {
		copy(r.Sum[:], f.take(sha256.Size))
		r.size = f.unsigned()
	}
	for _, text := range []*string{&r.Charset, &r.ETag, &r.LastModified, &r.Err} {
		*text = f.text()
	}
	for n := f.unsigned(); n > 0 && f.err == nil; n-- {
		r.Hops = append(r.Hops, f.text())
	}
	for _, at := range []*time.Time{&r.Fetched, &r.FreshUntil, &r.Checked, &r.Retry} {
		*at = f.time()
	}
	r.FreshFor = time.Duration(f.number())
	r.Attempts = int(f.number())
	if f.err == nil && len(f.b) > 0 {
		f.err = errField
	}
	if f.err != nil {
		return nil, f.err
	}
	return r, nil
}

// fields reads one field after the other. After the first fault all are zero.
type fields struct {
	b   []byte
	err error
}

func (f *fields) take(n uint64) []byte {
	if f.err == nil && n > uint64(len(f.b)) {
		f.err = errShort
	}
	if f.err != nil {
		return nil
	}
	taken := f.b[:n]
	f.b = f.b[n:]
	return taken
}

func (f *fields) octet() byte {
	if one := f.take(1); f.err == nil {
		return one[0]
	}
	return 0
}

func (f *fields) access() policy.Access {
	code := f.octet()
	for access, c := range accessCodes {
		if c == code {
			return access
		}
	}
	if f.err == nil {
		f.err = errField
	}
	return policy.Unreachable
}

func (f *fields) number() int64 {
	n, size := binary.Varint(f.b)
	return advance(f, n, size)
}

func (f *fields) unsigned() uint64 {
	n, size := binary.Uvarint(f.b)
	return advance(f, n, size)
}

// advance steps over a varint of a size, which is not positive where none
// could be read.
func advance[T int64 | uint64](f *fields, n T, size int) T {
	if f.err == nil && size <= 0 {
		f.err = errShort
	}
	if f.err != nil {
		return 0
	}
	f.b = f.b[size:]
	return n
}

func (f *fields) text() string { return string(f.take(f.unsigned())) }

func (f *fields) time() time.Time {
	if f.octet() == 0 {
		return time.Time{}
	}
	seconds, nanos := f.number(), f.unsigned()
	if f.err == nil && nanos >= uint64(time.Second) {
		f.err = errField
	}
	if f.err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos)).UTC()
}
