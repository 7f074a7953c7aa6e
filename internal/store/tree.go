package store

import (
	"bytes"
	"io"
	"sort"

	"go.etcd.io/bbolt"
)

// bucket is one of the file's, as some transaction left it.
type bucket struct {
	r      io.ReaderAt
	meta   *meta
	root   uint64
	inline *page                 // where the bucket is small: its one page, and root is 0
	holds  func(key []byte) bool // whether a key may be in it; nil: any may
}

// readBucket finds a bucket by its name. nil if there is none.
func readBucket(r io.ReaderAt, m *meta, name []byte) (*bucket, error) {
	top := &bucket{r: r, meta: m, root: m.root}
	p, _, err := top.leaf(name)
	if err != nil {
		return nil, err
	}
	i, found := p.search(name)
	if !found {
		return nil, nil
	}
	e := p.element(i)
	value := p.b[e.value:e.end]
	if e.flags != flagBucket || len(value) < bucketHeader {
		return nil, damagedPage(m.root)
	}
	b := &bucket{r: r, meta: m, root: native.Uint64(value)}
	if b.root != 0 {
		return b, nil
	}
	in := value[bucketHeader:]
	if len(in) < pageHeader || native.Uint16(in[8:]) != flagLeaf {
		return nil, damagedPage(m.root)
	}
	b.inline = &page{flags: flagLeaf, count: int(native.Uint16(in[10:])), b: in}
	if !b.inline.sound() {
		return nil, damagedPage(m.root)
	}
	return b, nil
}

// leaf returns the page on which a key stands, if it is anywhere, and the least
// key that may stand on the next one, nil where there is none.
func (b *bucket) leaf(key []byte) (p *page, next []byte, err error) {
	if b.inline != nil {
		return b.inline, nil, nil
	}
	id, least := b.root, []byte(nil)
	for range deepest {
		p, err := b.meta.page(b.r, id, flagBranch|flagLeaf)
		if err != nil {
			return nil, nil, err
		}
		if !p.within(least, next) {
			return nil, nil, damagedPage(id)
		}
		if p.flags == flagLeaf {
			if b.holds != nil && p.count > 0 && !b.holds(p.b[p.element(0).key:p.element(0).value]) {
				return nil, nil, damagedPage(id) // it is another bucket's
			}
			return p, next, nil
		}
		i, found := p.search(key)
		if !found && i > 0 {
			i--
		}
		if i+1 < p.count {
			e := p.element(i + 1)
			next = p.b[e.key:e.value]
		}
		e := p.element(i)
		if i > 0 {
			least = p.b[e.key:e.value]
		}
		id = e.child
	}
	return nil, nil, damagedPage(b.root)
}

// within reports whether the keys of a page are those that lead to it: from
// least on, and below next where that is not nil.
func (p *page) within(least, next []byte) bool {
	if p.count == 0 {
		return true
	}
	first, last := p.element(0), p.element(p.count-1)
	return bytes.Compare(p.b[first.key:first.value], least) >= 0 &&
		(next == nil || bytes.Compare(p.b[last.key:last.value], next) < 0)
}

// search returns where a key stands in a page, or would.
func (p *page) search(key []byte) (i int, found bool) {
	return sort.Find(p.count, func(i int) int {
		e := p.element(i)
		return bytes.Compare(key, p.b[e.key:e.value])
	})
}

// get returns the value of a key, nil if there is none.
func (b *bucket) get(key []byte) ([]byte, error) {
	p, _, err := b.leaf(key)
	if err != nil {
		return nil, err
	}
	i, found := p.search(key)
	if !found {
		return nil, nil
	}
	e := p.element(i)
	return p.b[e.value:e.end:e.end], nil
}

// scan calls visit for some pairs, beginning at a key, and returns the key to
// go on from, nil at the end.
func (b *bucket) scan(from []byte, count int, visit func(key, value []byte)) (next []byte, err error) {
	for {
		p, next, err := b.leaf(from)
		if err != nil {
			return nil, err
		}
		for i, _ := p.search(from); i < p.count; i++ {
			e := p.element(i)
			key := p.b[e.key:e.value]
			if count == 0 {
				return key, nil
			}
			visit(key, p.b[e.value:e.end:e.end])
			count--
		}
		if next == nil {
			return nil, nil
		}
		if bytes.Compare(next, from) <= 0 {
			return nil, damagedPage(b.root)
		}
		from = next
	}
}

// changer changes a bucket of bbolt's. Before it gives bbolt a key it looks at
// the pages that bbolt goes through for it. Keys come in their order.
type changer struct {
	to     *bbolt.Bucket
	before *bucket // the same, before the transaction
	begun  bool
	next   []byte // where the page ends that was looked at; nil: nowhere
}

func (c *changer) put(key, value []byte) error {
	if err := c.inspect(key); err != nil {
		return err
	}
	return c.to.Put(key, value)
}

func (c *changer) drop(key []byte) error {
	if err := c.inspect(key); err != nil {
		return err
	}
	return c.to.Delete(key)
}

func (c *changer) inspect(key []byte) (err error) {
	if c.begun && (c.next == nil || bytes.Compare(key, c.next) < 0) {
		return nil
	}
	_, c.next, err = c.before.leaf(key)
	c.begun = err == nil
	return err
}
