package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// fieldOf returns the field of a section that a key names.
func fieldOf(v reflect.Value, name string) (reflect.Value, bool) {
	i := slices.Index(keysOf(v.Type()), name)
	if i < 0 {
		return reflect.Value{}, false
	}
	return v.Field(i), true
}

// keysOf returns the keys of a section, in the order of its fields.
func keysOf(t reflect.Type) []string {
	var keys []string
	for field := range t.Fields() {
		keys = append(keys, keyOf(field))
	}
	return keys
}

// keyOf returns the key of a field.
func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return key
}

// suggest says what an unknown key of a section was probably meant to be.
func suggest(name, prefix string, section reflect.Type) string {
	keys := keysOf(section)
	nearest, distance := "", 1+len(name)/3
	for _, key := range keys {
		if len(name) > 2*len(key)+2 { // also bounds the table of edits
			continue
		}
		if d := edits(name, key); d <= distance {
			nearest, distance = key, d-1
		}
	}
	if nearest != "" {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	if elsewhere := findKey(reflect.TypeFor[Config](), "", name); elsewhere != "" && elsewhere != prefix+name {
		return fmt.Sprintf("did you mean %q of the section %s?", name, strings.TrimSuffix(elsewhere, "."+name))
	}
	return "the keys here are " + strings.Join(keys, ", ")
}

// findKey returns the full name of the first key with a name, below the top.
func findKey(t reflect.Type, prefix, name string) string {
	for field := range t.Fields() {
		key := prefix + keyOf(field)
		if prefix != "" && keyOf(field) == name {
			return key
		}
		if field.Type.Kind() == reflect.Struct && keyOf(field) != "" {
			if found := findKey(field.Type, key+".", name); found != "" {
				return found
			}
		}
	}
	return ""
}

// edits returns the number of octets to insert, delete or replace, or of
// neighbours to swap, to make b of a (optimal string alignment).
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := 1
			if a[i-1] == b[j-1] {
				replace = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
