package policy

import (
	"iter"
	"slices"
)

// Record is a line that is neither a rule nor a user-agent line, such as
// "Sitemap: https://a.example/sitemap.xml" (RFC 9309 §2.2.4). It decides
// nothing.
type Record struct {
	Kind  Kind
	Key   string // as written
	Value string // as written
	Line  int

	// Group is the values of the user-agent lines of the group in which the
	// record stands; nil if it stands before any. Whether a record means
	// anything in a group depends on its Kind.
	Group []string
}

// record is a Record; its texts are in Policy.text.
type record struct {
	text     uint32 // the key, and right after it the value
	line     uint32
	group    uint32 // 1 more than the place of the group, 0 for none
	keyLen   uint16
	valueLen uint16
	kind     Kind
}

// record keeps a record.
func (c *compiler) record(l *Line) {
	r := record{
		text:     uint32(len(c.text)),
		line:     uint32(l.Number),
		keyLen:   uint16(l.Key.Len()),
		valueLen: uint16(l.Value.Len()),
		kind:     l.Kind,
	}
	if c.state != outsideGroups {
		r.group = uint32(len(c.policy.groups))
	}
	c.text = append(c.text, l.Key.Of(c.body)...)
	c.text = append(c.text, l.Value.Of(c.body)...)
	c.policy.records = append(c.policy.records, r)
	if l.Kind.isPace() && r.group > 0 {
		c.pace(string(l.Value.Of(c.body)))
	}
}

// Records yields the other records of the file, in its order. Those of unknown
// keys are among them.
func (p *Policy) Records() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for i := range p.records {
			if !yield(p.recordAt(i)) {
				return
			}
		}
	}
}

// RecordsFor yields, in the order of the file, the other records of the groups
// that count for a crawler with the given product tokens, as Decide finds them.
// Of several user-agent lines and rules the whole group has the record, wherever
// in it the record stands.
func (p *Policy) RecordsFor(tokens []string) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		groups := p.groupsFor(tokens)
		for i := range p.records {
			if g := p.records[i].group; g == 0 || !slices.Contains(groups, g-1) {
				continue
			}
			if !yield(p.recordAt(i)) {
				return
			}
		}
	}
}

func (p *Policy) recordAt(i int) Record {
	r := &p.records[i]
	value := r.text + uint32(r.keyLen)
	out := Record{
		Kind:  r.kind,
		Key:   p.text[r.text:value],
		Value: p.text[value : value+uint32(r.valueLen)],
		Line:  int(r.line),
	}
	if r.group > 0 {
		out.Group = p.namesOf(r.group - 1)
	}
	return out
}

// namesOf returns the values of the user-agent lines of a group.
func (p *Policy) namesOf(g uint32) []string {
	mentions := p.mentions[p.groups[g].mentions.from:p.groups[g].mentions.to]
	names := make([]string, len(mentions))
	for i := range mentions {
		names[i] = p.nameAt(&mentions[i])
	}
	return names
}

func (p *Policy) nameAt(m *mention) string { return p.text[m.text : m.text+uint32(m.textLen)] }
