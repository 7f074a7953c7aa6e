package policy

// Kept is room for a Decision that is to outlive its rules and those who asked,
// used for one after the other: it allocates only where a text is longer than
// those before. The zero Kept holds the zero Decision. It is not safe for
// concurrent use.
type Kept struct {
	decision Decision // without its texts
	texts    []byte
	lengths  [6]int32
}

// Keep replaces what is kept with d, as Decision.Clone would have it.
func (k *Kept) Keep(d *Decision, most int) {
	k.decision = Decision{
		Allowed: d.Allowed, Reason: d.Reason, GroupLine: d.GroupLine, Line: d.Line,
		Dialect: d.Dialect, Override: d.Override, allowKey: d.allowKey,
	}
	k.texts = k.texts[:0]
	for i, text := range [...]string{d.Token, d.Group, d.Value, d.Pattern, d.Form} {
		k.texts = append(k.texts, text[:min(len(text), most)]...)
		k.lengths[i] = int32(min(len(text), most))
	}
	if path := len(k.texts); d.Form == "" {
		k.keepPath(d)
		k.texts = k.texts[:min(len(k.texts), path+most)]
		k.lengths[len(k.lengths)-1] = int32(len(k.texts) - path)
	} else {
		k.lengths[len(k.lengths)-1] = 0
	}
}

// keepPath appends what met the rule.
func (k *Kept) keepPath(d *Decision) {
	if d.source == nil || d.target == "" {
		k.texts = append(k.texts, d.target...) // comparable already
		return
	}
	var buffer pathBuffer
	k.texts = append(k.texts, d.source.dialect.comparable(d.target, &buffer)...)
}

// Decision returns what is kept, in memory of its own.
func (k *Kept) Decision() Decision {
	d := k.decision
	rest := string(k.texts)
	for i, text := range [...]*string{&d.Token, &d.Group, &d.Value, &d.Pattern, &d.Form, &d.target} {
		*text, rest = rest[:k.lengths[i]], rest[k.lengths[i]:]
	}
	return d
}

// Size is the memory that the texts have, in octets.
func (k *Kept) Size() int { return cap(k.texts) }
