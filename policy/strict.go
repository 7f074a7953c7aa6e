package policy

import (
	"bytes"
	"slices"
	"strings"
)

// mostDecodings is how often an origin may decode a target one time after the
// other. Some have two servers one behind the other, each of which does.
const mostDecodings = 3

// compileStrictly reads the body in one case, too, if that is to count.
func (p *Policy) compileStrictly(body []byte, o Options) {
	if !o.Strict {
		return
	}
	p.folded = Compile(inLowerCase(bytes.Clone(body)), Options{Limit: o.Limit, Dialect: o.Dialect, Decoded: o.Decoded})
}

// decideStrictly replaces d if the target is disallowed as origins may take it
// that hardly any is: decoded several times, with an octet or two too many for a
// slash or a dot, without what a segment has behind a semicolon, and all of it in
// one case. That counts only if the rules were compiled with Options.Strict.
func (p *Policy) decideStrictly(d *Decision, t Tokens, target string) {
	if p.folded == nil {
		return
	}
	all, octets := strictForms(target), 0
	for _, f := range all {
		octets += len(f.target)
	}
	if p.folded.isCostly(t, octets) {
		*d = Decision{Reason: ReasonCostly, Dialect: p.dialect.name}
		return
	}
	for _, f := range all {
		var next Decision
		if p.folded.decideTokens(&next, t, f.target, f.target, f.comparison); !next.Allowed {
			next.Form = f.target
			next.Value = p.valueAt(next.Line)
			*d = next
			return
		}
	}
}

// valueAt is the value of a rule as written; empty if there is none at the line.
func (p *Policy) valueAt(line int) string {
	for i := range p.rules {
		if r := &p.rules[i]; int(r.line) == line {
			return p.valueOf(r)
		}
	}
	return ""
}

// strictForms returns all that a target may be taken for, in lower case, without
// repetition.
func strictForms(target string) (all []form) {
	for _, reading := range readings(string(inLowerCase([]byte(target)))) {
		all = append(all, form{normalTarget(reading), comparePlain})
		all = append(all, forms(nil, reading, true)...)
	}
	seen := make(map[form]bool, len(all))
	return slices.DeleteFunc(all, func(f form) bool {
		was := seen[f]
		seen[f] = true
		return was
	})
}

// readings are a target as it is, and as it is decoded, one time after the other,
// each with what segments have behind a semicolon, and without.
func readings(target string) (all []string) {
	for range mostDecodings {
		all = append(all, target)
		if bare := withoutParameters(target); bare != target {
			all = append(all, bare)
		}
		decoded := decodeOnce(target)
		if decoded == target {
			return all
		}
		target = decoded
	}
	all = append(all, target, withoutParameters(target))
	return all
}

// inLowerCase puts the letters of ASCII in lower case, in place. What other letters
// there are depends on a charset, and origins differ.
func inLowerCase(octets []byte) []byte {
	for i, c := range octets {
		octets[i] = lower(c)
	}
	return octets
}

// overlong are slashes, dots and backslashes in more octets than they need, which
// UTF-8 does not have (RFC 3629 §3) and some decoders take.
var overlong = strings.NewReplacer(
	"\xc0\xaf", "/", "\xe0\x80\xaf", "/", "\xf0\x80\x80\xaf", "/",
	"\xc0\xae", ".", "\xe0\x80\xae", ".", "\xf0\x80\x80\xae", ".",
	"\xc1\x9c", `\`, "\xe0\x81\x9c", `\`,
)

// decodeOnce decodes every octet of a target that is percent-encoded, and puts it
// in lower case. A path always begins with a slash.
func decodeOnce(target string) string {
	if strings.IndexByte(target, '%') < 0 {
		return target
	}
	decoded := make([]byte, 0, len(target))
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '%' && i+2 < len(target) && hexDigit(target[i+1]) >= 0 && hexDigit(target[i+2]) >= 0 {
			c = lower(byte(hexDigit(target[i+1])<<4 | hexDigit(target[i+2])))
			i += 2
		}
		decoded = append(decoded, c)
	}
	return withSlash(overlong.Replace(string(decoded)))
}

// withoutParameters takes away what each segment of a path has behind a semicolon,
// which servlets do.
func withoutParameters(target string) string {
	path, query, asked := strings.Cut(target, "?")
	if strings.IndexByte(path, ';') < 0 {
		return target
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	if path = strings.Join(segments, "/"); asked {
		path += "?" + query
	}
	return path
}
