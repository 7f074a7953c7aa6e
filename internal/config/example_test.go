package config

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const examplePath = "../../config.example.yaml"

func TestExampleFileSaysTheDefaults(t *testing.T) {
	c, err := Load(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	if want := Default(); !reflect.DeepEqual(c, want) {
		t.Errorf("config.example.yaml is\n%+v\nthe defaults are\n%+v", c, want)
	}
}

func TestExampleFileHasEveryKeyAndNoOther(t *testing.T) {
	text, err := os.ReadFile(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		t.Fatal(err)
	}
	inFile := keysInFile(file.Docs[0].Body.(ast.MapNode), "")
	inStruct := keysInStruct(reflect.TypeFor[Config](), "")
	for _, key := range inStruct {
		if !slices.Contains(inFile, key) {
			t.Errorf("config.example.yaml lacks %s", key)
		}
	}
	for _, key := range inFile {
		if !slices.Contains(inStruct, key) {
			t.Errorf("config.example.yaml has %s, which is no key", key)
		}
	}
}

func keysInFile(n ast.MapNode, prefix string) (keys []string) {
	for iter := n.MapRange(); iter.Next(); {
		key := prefix + iter.Key().String()
		if below, ok := iter.Value().(ast.MapNode); ok {
			keys = append(keys, keysInFile(below, key+".")...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

func keysInStruct(t reflect.Type, prefix string) (keys []string) {
	for field := range t.Fields() {
		key := prefix + field.Tag.Get("yaml")
		if field.Type.Kind() == reflect.Struct {
			keys = append(keys, keysInStruct(field.Type, key+".")...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}
