package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The pages of a bbolt file carry no checksums, and bbolt trusts what they say:
// a page that leads back to itself makes it recurse until the process ends,
// which nothing can recover from; a page that is gone from under its memory map
// is a fault, behind which it leaves its locks held. So heed reads the file by
// itself, with bounds to everything, and has bbolt write it, after a look at
// the pages that bbolt will go through.

// The layout of a bbolt file, version 2, in the machine's own byte order.
const (
	bboltMagic     = 0xED0CDAED
	bboltVersion   = 2
	pageHeader     = 16 // id, flags, count, overflow
	elementSize    = 16 // of a branch or a leaf page
	bucketHeader   = 16 // root, sequence
	metaSize       = 64
	flagBranch     = 0x01
	flagLeaf       = 0x02
	flagFreelist   = 0x10
	flagBucket     = 0x01 // of an element of a leaf page
	countElsewhere = 0xFFFF
	deepest        = 32                      // far above what a tree of any size needs
	mostOctets     = largestBody + (1 << 20) // of a page with those that go on from it
)

var native = binary.NativeEndian

// meta is what one of the two meta pages says.
type meta struct {
	pageSize uint64
	root     uint64 // page of the bucket of buckets
	freelist uint64 // page of the list of free pages
	pages    uint64 // in use, free ones between them included
	txid     uint64
}

// readMeta returns the later one of the meta pages that are whole, as bbolt
// chooses.
func readMeta(r io.ReaderAt) (*meta, error) {
	first, err := metaAt(r, 0)
	if err != nil {
		for at := int64(1 << 10); at <= 16<<20; at *= 2 {
			if second, other := metaAt(r, at); other == nil && second.pageSize == uint64(at) {
				return second, nil
			}
		}
		return nil, err
	}
	second, err := metaAt(r, int64(first.pageSize))
	if err == nil && second.pageSize == first.pageSize && second.txid > first.txid {
		return second, nil
	}
	return first, nil
}

var errBeginning = &damage{why: "it is not a file that heed wrote, or its beginning is damaged"}

func metaAt(r io.ReaderAt, at int64) (*meta, error) {
	page := make([]byte, pageHeader+metaSize)
	if err := readAt(r, page, at); err != nil {
		return nil, err
	}
	b := page[pageHeader:]
	h := fnv.New64a()
	_, _ = h.Write(b[:metaSize-8]) // a hash does not fail
	if native.Uint32(b) != bboltMagic || native.Uint32(b[4:]) != bboltVersion || native.Uint64(b[metaSize-8:]) != h.Sum64() {
		return nil, errBeginning
	}
	m := &meta{
		pageSize: uint64(native.Uint32(b[8:])),
		root:     native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]),
		pages:    native.Uint64(b[40:]),
		txid:     native.Uint64(b[48:]),
	}
	if m.pageSize < 1<<10 || m.pageSize > 16<<20 || m.pageSize&(m.pageSize-1) != 0 || m.pages > 1<<46/m.pageSize {
		return nil, errBeginning
	}
	return m, nil
}

// readAt fills b. That the file ends before is damage.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	_, err := r.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		return &damage{why: "it is cut short"}
	}
	return err
}

// page is a page of a kind and those that go on from it. Its elements lie
// within it.
type page struct {
	flags uint16
	count int
	b     []byte // header included
}

// page reads one of a kind, which is one bit or several of the flags.
func (m *meta) page(r io.ReaderAt, id uint64, kinds uint16) (*page, error) {
	if id < 2 || id >= m.pages {
		return nil, damagedPage(id)
	}
	b := make([]byte, m.pageSize)
	if err := readAt(r, b, int64(id*m.pageSize)); err != nil {
		return nil, err
	}
	p := &page{flags: native.Uint16(b[8:]), count: int(native.Uint16(b[10:]))}
	overflow := uint64(native.Uint32(b[12:]))
	if native.Uint64(b) != id || p.flags&kinds == 0 || p.flags&(p.flags-1) != 0 || overflow >= m.pages-id || overflow*m.pageSize > mostOctets {
		return nil, damagedPage(id)
	}
	if overflow > 0 {
		b = make([]byte, (overflow+1)*m.pageSize)
		if err := readAt(r, b, int64(id*m.pageSize)); err != nil {
			return nil, err
		}
	}
	if p.b = b; p.flags != flagFreelist && !p.sound() {
		return nil, damagedPage(id)
	}
	return p, nil
}

func damagedPage(id uint64) error {
	return &damage{why: fmt.Sprintf("its page %d is damaged", id)}
}

// sound reports whether the elements of a branch or a leaf lie within it, with
// keys that rise.
func (p *page) sound() bool {
	if pageHeader+p.count*elementSize > len(p.b) || p.flags == flagBranch && p.count == 0 {
		return false
	}
	var last []byte
	for i := range p.count {
		e := p.element(i)
		if e.end > uint64(len(p.b)) || e.key < uint64(pageHeader+p.count*elementSize) {
			return false
		}
		if k := p.b[e.key:e.value]; i > 0 && bytes.Compare(k, last) <= 0 {
			return false
		}
		last = p.b[e.key:e.value]
	}
	return true
}

// element says where the parts of an element lie in its page.
type element struct {
	flags           uint32
	child           uint64 // of a branch
	key, value, end uint64
}

func (p *page) element(i int) element {
	at := uint64(pageHeader + i*elementSize)
	b := p.b[at:]
	if p.flags == flagBranch { // position, length of the key, child
		e := element{key: at + uint64(native.Uint32(b)), child: native.Uint64(b[8:])}
		e.value = e.key + uint64(native.Uint32(b[4:]))
		e.end = e.value
		return e
	}
	e := element{flags: native.Uint32(b), key: at + uint64(native.Uint32(b[4:]))} // flags, position, lengths
	e.value = e.key + uint64(native.Uint32(b[8:]))
	e.end = e.value + uint64(native.Uint32(b[12:]))
	return e
}

// checkFreelist looks at the list of free pages, which bbolt reads when it
// opens a file: each is one of the file's, once.
func (m *meta) checkFreelist(r io.ReaderAt) error {
	damaged := &damage{why: "its list of free pages is damaged"}
	p, err := m.page(r, m.freelist, flagFreelist)
	if err != nil {
		return err
	}
	list, count := p.b[pageHeader:], uint64(p.count)
	if count == countElsewhere {
		count, list = native.Uint64(list), list[8:]
	}
	if count > uint64(len(list))/8 {
		return damaged
	}
	last := uint64(1)
	for i := range count {
		free := native.Uint64(list[8*i:])
		if free <= last || free >= m.pages || free == m.root || free == m.freelist {
			return damaged
		}
		last = free
	}
	return nil
}
