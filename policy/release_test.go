package policy

import (
	"reflect"
	"testing"
)

// TestWhatAPolicyPointsToCanLieInOnePiece: settle puts all of it into memory that
// the collector takes for numbers, what has to be aligned to more octets first.
func TestWhatAPolicyPointsToCanLieInOnePiece(t *testing.T) {
	var p Policy
	align := 8
	for _, s := range []any{p.keys, p.hints, p.paces, p.sets, p.tokens, p.named, p.mentions, p.rules, p.groups, p.records} {
		element := reflect.TypeOf(s).Elem()
		if pointers(element) {
			t.Errorf("%s holds a pointer", element)
		}
		if element.Align() > align || int(element.Size())%element.Align() != 0 {
			t.Errorf("%s has to be aligned to %d octets, after what has to be to %d", element, element.Align(), align)
		}
		align = element.Align()
	}
}

// TestEverySliceOfAPolicyIsSettled: what release leaves where it was belongs to a
// compiler that is given to somebody else.
func TestEverySliceOfAPolicyIsSettled(t *testing.T) {
	const body = "User-agent: a\nDisallow: /a\nDisallow: /*a*a\nDisallow: /*b*a\nDisallow: /*c*a\nDisallow: /*d*a\nSitemap: /x\nCrawl-delay: 1\n"
	p := Compile([]byte(body), Options{Cautious: true})
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Slice {
			continue
		}
		name := v.Type().Field(i).Name
		if f.Len() == 0 {
			t.Errorf("the body leaves %s empty", name)
		}
		if f.Cap() != f.Len() {
			t.Errorf("%s has room for more", name)
		}
	}
}

func pointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if pointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return pointers(t.Elem())
	}
	return t.Kind() < reflect.Bool || t.Kind() > reflect.Complex128
}
