package agent

import "strings"

// field is one User-Agent field while it is read.
type field struct {
	*collector

	long    bool   // names are copied
	named   bool   // its main name is known
	lone    string // its one product, if that is generic or a bare number
	others  bool   // it has more than one product, or a comment
	android bool   // the part before in this comment is "Android …"
}

// product takes a word outside comments.
func (f *field) product(word string) {
	token, number := productToken(word)
	if token == "" {
		return
	}
	f.others = f.others || f.named || f.lone != ""
	if number || generic(token) {
		f.lone = token
		return
	}
	f.add(token)
}

// comment takes a part of a comment.
func (f *field) comment(p part) {
	f.others = true
	// After "Android 10" comes the model of the device, which is no name.
	model := f.android && !p.first
	f.android = isAndroid(p.text) || model && isLocale(p.text)
	if model && isBare(p.text) {
		return
	}
	for token := range commentTokens(p.text) {
		f.add(token)
	}
}

// end settles what only the whole field tells. "Mozilla/5.0" or "Chrome" by
// itself is no browser's field but what a client was told to call itself, and
// sites have groups for such names.
func (f *field) end() {
	if f.lone != "" && !f.others {
		f.add(f.lone)
	}
	f.nameless = f.nameless || !f.named
}

// add keeps a name, once, whatever its case. The first of the field is its
// main one, even if it is too long to be kept: the next must not pass for it.
func (f *field) add(token string) {
	main := !f.named
	f.named = true
	if len(token) > maxName {
		f.nameless = true
		return
	}
	if contains(f.main, token) || !main && contains(f.also, token) {
		return
	}
	if f.long {
		token = strings.Clone(token)
	}
	if main {
		f.main = append(f.main, token)
	} else {
		f.also = append(f.also, token)
	}
}
