package policy

// Kept is room for a Decision that is to outlive its rules and those who asked,
// used for one after the other: it allocates only where the texts are longer
// than those before. The zero Kept holds the zero Decision. It is not safe for
// concurrent use.
//
// It has hardly a pointer: to replace those of a Decision costs more than to copy
// its texts, and thousands of them would be looked at by each garbage
// collection.
type Kept struct {
	override *Override
	texts    []byte
	lengths  [7]int32
	line     int32
	group    int32
	reason   Reason
	allowed  bool
	allowKey bool
}

// Keep replaces what is kept with d, as Decision.Clone would have it.
func (k *Kept) Keep(d *Decision, most int) {
	k.allowed, k.reason, k.allowKey = d.Allowed, d.Reason, d.allowKey
	k.group, k.line = int32(d.GroupLine), int32(d.Line)
	if k.override != d.Override {
		k.override = d.Override
	}
	k.texts = k.texts[:0]
	for i, text := range [...]string{d.Token, d.Group, d.Value, d.Pattern, d.Form, d.Dialect} {
		n := min(len(text), most)
		k.texts = append(k.texts, text[:n]...)
		k.lengths[i] = int32(n)
	}
	path := len(k.texts)
	if d.Form == "" && d.target != "" {
		k.keepPath(d)
		k.texts = k.texts[:min(len(k.texts), path+most)]
	}
	k.lengths[len(k.lengths)-1] = int32(len(k.texts) - path)
}

// keepPath appends what met the rule.
func (k *Kept) keepPath(d *Decision) {
	if d.source == nil {
		k.texts = append(k.texts, d.target...) // comparable already
		return
	}
	var buffer pathBuffer
	k.texts = append(k.texts, d.source.dialect.comparable(d.target, &buffer)...)
}

// Decision returns what is kept, in memory of its own.
func (k *Kept) Decision() Decision {
	d := Decision{
		Allowed: k.allowed, Reason: k.reason, GroupLine: int(k.group), Line: int(k.line),
		Override: k.override, allowKey: k.allowKey,
	}
	rest := string(k.texts)
	for i, text := range [...]*string{&d.Token, &d.Group, &d.Value, &d.Pattern, &d.Form, &d.Dialect, &d.target} {
		*text, rest = rest[:k.lengths[i]], rest[k.lengths[i]:]
	}
	return d
}

// Size is the memory that the texts have, in octets.
func (k *Kept) Size() int { return cap(k.texts) }
