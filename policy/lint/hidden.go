package lint

import (
	"slices"
	"sort"
	"strings"
)

// hider looks for rules that can never decide, as another matches whatever they
// match and comes first.
type hider struct {
	*checker
	budget int // octets of patterns that may yet be compared
}

func newHider(c *checker) *hider { return &hider{checker: c, budget: 16 << 20} }

// check checks the rules of each set of agents: groups for the same agents count
// together, always.
func (h *hider) check(all []group) {
	sets := make(map[string]int)
	var merged [][]rule
	for _, g := range all {
		h.emptyRules(g)
		set := g.set()
		if set == "" {
			continue // it is for nobody
		}
		at, seen := sets[set]
		if !seen {
			at = len(merged)
			sets[set] = at
			merged = append(merged, nil)
		}
		merged[at] = append(merged[at], g.rules...)
	}
	for _, rules := range merged {
		h.contained(h.equal(rules))
	}
}

// equal reports the rules that match the same targets as another which comes
// first, and returns the others that can match anything.
func (h *hider) equal(rules []rule) []rule {
	winners := winners(rules)
	var rest []rule
	for _, r := range rules {
		if !r.canMatch() {
			continue
		}
		w := winners[language(r.pattern)]
		switch {
		case w.line.Number == r.line.Number:
			rest = append(rest, r)
		case w.allows() == r.allows():
			h.add(RepeatedRule, r.line, r.line.Value, w.line.Number,
				"it says what line %d says, and never decides; leave it out, or the whole group if it has no other rule", w.line.Number)
		default:
			h.hide(r, w)
		}
	}
	return rest
}

// winners returns, of the rules that match the same targets, the one that
// decides, by their language.
func winners(rules []rule) map[string]rule {
	first := make(map[string]rule, len(rules))
	for _, r := range rules {
		if !r.canMatch() {
			continue
		}
		key := language(r.pattern)
		if w, seen := first[key]; !seen || before(r, w) {
			first[key] = r
		}
	}
	return first
}

// before tells whether a decides where both match (RFC 9309 §2.2.2): the longer
// does, then Allow, then the earlier.
func before(a, b rule) bool {
	switch {
	case len(a.pattern) != len(b.pattern):
		return len(a.pattern) > len(b.pattern)
	case a.allows() != b.allows():
		return a.allows()
	}
	return a.line.Number < b.line.Number
}

// language returns the shortest pattern that matches the same targets: one
// asterisk for several, and none at the end.
func language(pattern string) string {
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	if open, found := strings.CutSuffix(pattern, "*$"); found {
		return open
	}
	return strings.TrimSuffix(pattern, "*")
}

// contained reports the rules whose every target is matched by another rule
// that comes first. That one has an asterisk: without, it would have to be the
// start of a longer pattern to match more, and shorter than that.
func (h *hider) contained(rules []rule) {
	byPattern := slices.Clone(rules)
	slices.SortFunc(byPattern, func(a, b rule) int { return strings.Compare(a.pattern, b.pattern) })
	hidden := make(map[int]bool)
	for _, wide := range rules {
		star := strings.IndexByte(wide.pattern, '*')
		if star < 0 {
			continue
		}
		head := wide.pattern[:star]
		from := sort.Search(len(byPattern), func(i int) bool { return byPattern[i].pattern >= head })
		for _, r := range byPattern[from:] {
			if !strings.HasPrefix(r.pattern, head) {
				break
			}
			h.budget -= len(r.pattern) + len(wide.pattern)
			if h.budget < 0 {
				return
			}
			if !hidden[r.line.Number] && before(wide, r) && contains(wide.pattern, r.pattern) {
				hidden[r.line.Number] = true
				h.hide(r, wide)
			}
		}
	}
}

func (h *hider) hide(r, by rule) {
	why := "is longer"
	if len(by.pattern) == len(r.pattern) {
		why = "is as long, and Allow goes before Disallow"
		if by.allows() == r.allows() {
			why = "is as long and stands before it"
		}
	}
	h.add(HiddenRule, r.line, r.line.Value, by.line.Number,
		"it never decides: line %d matches every URL that it matches, and %s; leave out one of them", by.line.Number, why)
}

// anything stands for what an asterisk of the narrow pattern may be. It is in no
// normalised pattern.
const anything = "\x01"

// contains tells whether wide matches every target that narrow matches. Where it
// says no, that is not proved: "/*" has all targets that "*" has, since each
// begins with a slash.
//
// If wide matches narrow as a text in which each asterisk is an octet that no
// literal of wide can meet, then it is asterisks of wide that take them, and
// they take whatever stands there.
func contains(wide, narrow string) bool {
	text, end := strings.CutSuffix(narrow, "$")
	text = strings.ReplaceAll(text, "*", anything)
	if !end {
		text += anything
	}
	literals, end := strings.CutSuffix(wide, "$")
	parts := strings.Split(literals, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	if len(parts) == 1 {
		return !end || text == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	if end {
		return strings.HasSuffix(text, parts[last])
	}
	return strings.Contains(text, parts[last])
}
