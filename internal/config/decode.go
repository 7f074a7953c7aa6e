package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// file reads the text of the file into the configuration. The text goes
// through YAML's syntax tree rather than its decoder: the tree knows the line
// of each key and value, and keeps a key that stands twice.
func (r *reader) file(text []byte) {
	tree, err := r.tree(text)
	if err != nil {
		r.faults = append(r.faults, err)
		return
	}
	var body ast.Node
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			r.reject(doc.Body, "a second document; a configuration is one")
			return
		}
		body = doc.Body
	}
	if body == nil || body.Type() == ast.NullType {
		return
	}
	r.mapping(body, reflect.ValueOf(r.config).Elem(), "")
}

// tree parses YAML. The parser is given foreign text: should it panic, that
// text is not a configuration.
func (r *reader) tree(text []byte) (tree *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: not YAML that can be read: %v", r.name, p)
		}
	}()
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: not UTF-8; save the file in that encoding", r.name)
	}
	tree, err = parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil {
		return nil, fmt.Errorf("%s:%d: not YAML: %s; config.example.yaml shows the form", r.name, syntax.Token.Position.Line, firstLine(syntax.Message))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not YAML: %s; config.example.yaml shows the form", r.name, firstLine(err.Error()))
	}
	return tree, nil
}

// value reads a node into the field that a key names.
func (r *reader) value(n ast.Node, v reflect.Value, key string) {
	r.sources[key] = r.place(n)
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType, ast.TagType, ast.DirectiveType:
		r.reject(n, key+": anchors, aliases and tags are not read; write the value itself")
		return
	case ast.NullType:
		// A section whose keys are all commented out says nothing.
		if kind(v) != reflect.Struct {
			r.reject(n, key+": no value; write one, or leave the key out for the default")
		}
		return
	}
	switch kind(v) {
	case reflect.Struct:
		r.mapping(n, v, key+".")
	case reflect.Slice:
		r.sequence(n, v, key)
	default:
		text, ok := scalar(n)
		if !ok {
			r.reject(n, key+": a list or a section where one value belongs")
			return
		}
		r.text(text, v, key)
	}
}

// mapping reads a section into a struct.
func (r *reader) mapping(n ast.Node, v reflect.Value, prefix string) {
	entries, ok := n.(ast.MapNode)
	if !ok {
		name := strings.TrimSuffix(prefix, ".")
		if name == "" {
			name = "the file"
		}
		r.reject(n, fmt.Sprintf("%s: not a section; write KEY: VALUE lines with the keys %s", name, strings.Join(keysOf(v.Type()), ", ")))
		return
	}
	seen := map[string]string{}
	for iter := entries.MapRange(); iter.Next(); {
		name, ok := scalar(iter.Key())
		if !ok {
			r.reject(iter.Key(), fmt.Sprintf("%s%.40q: not a key that can be read; write a plain name", prefix, iter.Key().String()))
			continue
		}
		key := prefix + name
		field, known := fieldOf(v, name)
		if !known {
			r.reject(iter.Key(), fmt.Sprintf("%s%s: no such key; %s", prefix, plain(name), suggest(name, prefix, v.Type())))
			continue
		}
		if first, twice := seen[name]; twice {
			r.reject(iter.Key(), fmt.Sprintf("%s: already set at %s; keep one of them", key, first))
			continue
		}
		seen[name] = r.place(iter.Key())
		r.value(iter.Value(), field, key)
	}
}

// sequence reads a list. It replaces the default as a whole.
func (r *reader) sequence(n ast.Node, v reflect.Value, key string) {
	items, ok := n.(*ast.SequenceNode)
	if !ok {
		r.reject(n, key+": not a list; write [a, b] or lines that begin with a dash")
		return
	}
	v.SetZero()
	for i, item := range items.Values {
		element := reflect.New(v.Type().Elem()).Elem()
		r.value(item, element, fmt.Sprintf("%s[%d]", key, i))
		v.Set(reflect.Append(v, element))
	}
}

// set lays a setting over the configuration.
func (r *reader) set(s Setting) {
	v := reflect.ValueOf(r.config).Elem()
	for name := range strings.SplitSeq(s.Key, ".") {
		field, known := fieldOf(v, name)
		if !known {
			panic("config: setting for a key that does not exist: " + s.Key)
		}
		v = field
	}
	r.sources[s.Key] = s.Source
	if kind(v) != reflect.Slice {
		r.text(s.Values[len(s.Values)-1], v, s.Key)
		return
	}
	v.SetZero()
	for i, text := range s.Values {
		key := fmt.Sprintf("%s[%d]", s.Key, i)
		r.sources[key] = s.Source
		element := reflect.New(v.Type().Elem()).Elem()
		r.text(text, element, key)
		v.Set(reflect.Append(v, element))
	}
}

// text reads one value.
func (r *reader) text(text string, v reflect.Value, key string) {
	var err error
	switch field := v.Addr().Interface().(type) {
	case *netip.Prefix:
		*field, err = parsePrefix(text)
	case encoding.TextUnmarshaler:
		err = field.UnmarshalText([]byte(text))
	case *string:
		*field = text
	case *bool:
		if *field = text == "true"; !*field && text != "false" {
			err = fault("is neither true nor false")
		}
	case *int:
		if *field, err = strconv.Atoi(text); err != nil {
			err = fault("is not a whole number; write for example 256")
		}
	default:
		panic("config: a key of a type that has no reading: " + v.Type().String())
	}
	if err != nil {
		r.blame(key, text, err)
	}
}

// reject records a fault of the file's form.
func (r *reader) reject(n ast.Node, text string) {
	r.faults = append(r.faults, fmt.Errorf("%s: %s", r.place(n), text))
}

// place returns file and line of a node.
func (r *reader) place(n ast.Node) string {
	line := 1
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return r.name + ":" + strconv.Itoa(line)
}

// scalar returns the text of a plain value, as written.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// kind tells sections and lists from values that are written as one text.
func kind(v reflect.Value) reflect.Kind {
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return reflect.String
	}
	return v.Kind()
}

// firstLine keeps an error of another's making to one line.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// plain returns a foreign key as it may be shown in a line of text.
func plain(name string) string {
	if len(name) > 40 || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return fmt.Sprintf("%.40q", name)
	}
	return name
}
