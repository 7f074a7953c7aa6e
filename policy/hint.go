package policy

// nameHint is one of 64 bits that a name, of any case, has in common with few.
func nameHint[T string | []byte](name T) uint64 {
	if len(name) == 0 {
		return 1
	}
	return 1 << ((uint(lower(name[0])) + 7*uint(len(name))) & 63)
}

// fewPatterns is how many ordered rules are as quickly tried as hinted at.
const fewPatterns = 4

// hint tells that a pattern cannot match a target: 64 bits, one for each pair of
// octets side by side. A target that matches has every pair that the pattern
// has between its wildcards.
type hint uint64

// hintOf is the hint of a pattern.
func hintOf(pattern []byte) hint {
	var h hint
	a := byte('*')
	for _, b := range pattern {
		if a != '*' && b != '*' && b != '$' {
			h |= pairHint(a, b)
		}
		a = b
	}
	return h
}

func pairHint(a, b byte) hint {
	return 1 << ((uint32(a)*4 + uint32(b)) & 63)
}

// hintOfTarget is the hint of a target: '*' and '$' in it are octets as others.
func hintOfTarget(target string) hint {
	var h hint
	if target == "" {
		return 0
	}
	a := target[0]
	for i := 1; i < len(target); i++ {
		b := target[i]
		h |= pairHint(a, b)
		a = b
	}
	return h
}
