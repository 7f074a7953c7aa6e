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
// which nothing can recover from, and a count that is wrong makes it allocate
// without bound. So the pages by which all others are found are checked before
// bbolt sees the file: those of branches, of the list of free pages, and the
// two metas. They are one in fifty. What is wrong with the others shows when
// they are read: by a fault that is recovered, or by a wrong checksum.

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
	deepest        = 32        // far above what a tree of any size needs
	mostOctets     = 256 << 10 // of a branch: four keys as long as bbolt takes them, and more
)

var native = binary.NativeEndian

// checker walks through the pages of a file.
type checker struct {
	r        io.ReaderAt
	pageSize uint64
	pages    uint64   // in use, free ones between them included
	seen     []uint64 // a bit for each page to which something leads
}

// meta is what one of the two meta pages says.
type meta struct {
	pageSize, root, freelist, pages, txid uint64
}

// checkPages returns an error if a file of a size is not a whole bbolt file,
// as far as its branches go.
func checkPages(r io.ReaderAt, size int64) error {
	m, err := readMeta(r, size)
	if err != nil {
		return err
	}
	if uint64(size)/m.pageSize < m.pages {
		return fmt.Errorf("it is cut short: %d octets of %d", size, m.pages*m.pageSize)
	}
	c := checker{r: r, pageSize: m.pageSize, pages: m.pages, seen: make([]uint64, m.pages/64+1)}
	if err := c.freelist(m.freelist); err != nil {
		return err
	}
	return c.root(m.root)
}

// readMeta returns the later one of the meta pages that are whole, as bbolt
// chooses.
func readMeta(r io.ReaderAt, size int64) (*meta, error) {
	first, err := metaAt(r, 0)
	if err != nil {
		for at := int64(1 << 10); at <= 16<<20 && at < size; at *= 2 {
			if second, err := metaAt(r, at); err == nil && second.pageSize == uint64(at) {
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

func metaAt(r io.ReaderAt, at int64) (*meta, error) {
	var page [pageHeader + metaSize]byte
	if _, err := r.ReadAt(page[:], at); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is too short for a robots.txt file store")
		}
		return nil, err
	}
	b := page[pageHeader:]
	h := fnv.New64a()
	_, _ = h.Write(b[:metaSize-8]) // a hash does not fail
	if native.Uint32(b) != bboltMagic || native.Uint32(b[4:]) != bboltVersion || native.Uint64(b[metaSize-8:]) != h.Sum64() {
		return nil, errors.New("it does not begin as a robots.txt file store does")
	}
	m := &meta{
		pageSize: uint64(native.Uint32(b[8:])),
		root:     native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]),
		pages:    native.Uint64(b[40:]),
		txid:     native.Uint64(b[48:]),
	}
	if m.pageSize < 1<<10 || m.pageSize > 16<<20 || m.pageSize&(m.pageSize-1) != 0 || m.pages > 1<<46/m.pageSize {
		return nil, errors.New("its first page has sizes that cannot be")
	}
	return m, nil
}

// page is one page with those that follow it.
type page struct {
	flags uint16
	count int
	b     []byte // header included
}

// read returns a page of one of the kinds, to which nothing led before. Of it
// and those that follow it, at most limit octets are read.
func (c *checker) read(id uint64, kinds uint16, limit uint64) (*page, error) {
	if err := c.visit(id); err != nil {
		return nil, err
	}
	b := make([]byte, c.pageSize)
	if _, err := c.r.ReadAt(b, int64(id*c.pageSize)); err != nil {
		return nil, fmt.Errorf("reading page %d: %w", id, err)
	}
	p := &page{flags: native.Uint16(b[8:]), count: int(native.Uint16(b[10:]))}
	overflow := uint64(native.Uint32(b[12:]))
	if native.Uint64(b) != id || p.flags&kinds == 0 || p.flags&(p.flags-1) != 0 || overflow >= c.pages-id {
		return nil, damagedPage(id)
	}
	if overflow > 0 {
		b = make([]byte, min((overflow+1)*c.pageSize, limit))
		if _, err := c.r.ReadAt(b, int64(id*c.pageSize)); err != nil {
			return nil, fmt.Errorf("reading page %d: %w", id, err)
		}
	}
	if p.b = b; p.flags != flagFreelist && pageHeader+p.count*elementSize > len(b) {
		return nil, damagedPage(id)
	}
	return p, nil
}

// visit notes that something leads to a page.
func (c *checker) visit(id uint64) error {
	if id < 2 || id >= c.pages {
		return fmt.Errorf("its page %d is not one of %d", id, c.pages)
	}
	if c.seen[id/64]&(1<<(id%64)) != 0 {
		return fmt.Errorf("its page %d is in two places", id)
	}
	c.seen[id/64] |= 1 << (id % 64)
	return nil
}

func damagedPage(id uint64) error { return fmt.Errorf("its page %d is damaged", id) }

// freelist checks the list of free pages: each is one of the file's, once.
func (c *checker) freelist(id uint64) error {
	p, err := c.read(id, flagFreelist, 1<<62)
	if err != nil {
		return fmt.Errorf("its list of free pages: %w", err)
	}
	list, count := p.b[pageHeader:], uint64(p.count)
	if count == countElsewhere {
		count, list = native.Uint64(list), list[8:]
	}
	if count > uint64(len(list))/8 {
		return errors.New("its list of free pages is damaged")
	}
	for i := range count {
		free := native.Uint64(list[8*i:])
		if err := c.visit(free); err != nil {
			return fmt.Errorf("its list of free pages: %w", err)
		}
	}
	return nil
}

// root checks the bucket of buckets, and each bucket in it.
func (c *checker) root(id uint64) error {
	p, err := c.read(id, flagLeaf, mostOctets)
	if err != nil {
		return fmt.Errorf("its root: %w", err)
	}
	for i := range p.count {
		value, flags, ok := p.leaf(i)
		if !ok || flags == flagBucket && len(value) < bucketHeader {
			return errors.New("its root is damaged")
		}
		if flags != flagBucket {
			continue
		}
		if err := c.bucket(value); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket by what stands for it in the bucket of buckets.
func (c *checker) bucket(value []byte) error {
	top := native.Uint64(value)
	if top != 0 {
		_, err := c.branch(top, nil, 0, -1)
		return err
	}
	inline := value[bucketHeader:] // its one page is here
	if len(inline) < pageHeader || native.Uint16(inline[8:]) != flagLeaf ||
		pageHeader+int(native.Uint16(inline[10:]))*elementSize > len(inline) {
		return errors.New("a bucket within its root is damaged")
	}
	return nil
}

// leaf returns the value and the flags of an element of a leaf page.
func (p *page) leaf(i int) (value []byte, flags uint32, ok bool) {
	at := pageHeader + i*elementSize
	e := p.b[at:]
	pos, ksize, vsize := uint64(native.Uint32(e[4:])), uint64(native.Uint32(e[8:])), uint64(native.Uint32(e[12:]))
	begin := uint64(at) + pos + ksize
	if begin+vsize > uint64(len(p.b)) {
		return nil, 0, false
	}
	return p.b[begin : begin+vsize], native.Uint32(e), true
}

// branch checks a page and the branches below it. All leaves of a tree are
// equally deep, so of those one is read: leaves is their depth, -1 as long as
// it is not known. Keys rise within a page, from least on.
func (c *checker) branch(id uint64, least []byte, depth, leaves int) (int, error) {
	if depth == leaves {
		return leaves, c.visit(id)
	}
	kinds := uint16(flagBranch)
	if leaves < 0 {
		kinds |= flagLeaf
	}
	p, err := c.read(id, kinds, mostOctets)
	if err != nil {
		return leaves, err
	}
	if p.flags == flagLeaf {
		return depth, nil
	}
	if p.count == 0 || depth == deepest {
		return leaves, damagedPage(id)
	}
	for i := range p.count {
		at := pageHeader + i*elementSize
		e := p.b[at:]
		begin := uint64(at) + uint64(native.Uint32(e))
		end := begin + uint64(native.Uint32(e[4:]))
		if end > uint64(len(p.b)) {
			return leaves, damagedPage(id)
		}
		key := p.b[begin:end]
		if i > 0 && bytes.Compare(key, least) <= 0 {
			return leaves, fmt.Errorf("its page %d is out of order", id)
		}
		least = key
		if leaves, err = c.branch(native.Uint64(e[8:]), key, depth+1, leaves); err != nil {
			return leaves, err
		}
	}
	return leaves, nil
}
