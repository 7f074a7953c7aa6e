package config

import (
	"fmt"
	"io"
	"net/url"
	"reflect"
	"regexp"

	"github.com/goccy/go-yaml"

	"heed/internal/agent"
)

// Print writes the configuration as YAML with every key. What it writes can be
// loaded again, except that credentials in a URL are replaced by REDACTED, and
// hashes of passwords by one that no password meets.
func (c *Config) Print(w io.Writer) error {
	shown := *c
	redactAll(reflect.ValueOf(&shown).Elem())
	text, err := yaml.MarshalWithOptions(shown, yaml.IndentSequence(true))
	if err != nil {
		return fmt.Errorf("printing the configuration: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// redactAll redacts every text in a section and in the lists below it. Lists
// are copied first, since they are shared with the original.
func redactAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if h, ok := v.Interface().(Hash); ok {
			v.SetString(agent.Hash(h).Redacted())
			return
		}
		v.SetString(redact(v.String()))
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				redactAll(value)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			redactAll(list.Index(i))
		}
		v.Set(list)
	}
}

// credentials finds the userinfo of a URL, wherever in a text one stands;
// unparsable finds what might be one in a text that is no URL.
var (
	credentials = regexp.MustCompile(`//[^/?#\s]*@`)
	unparsable  = regexp.MustCompile(`(?s)//.*@`)
)

// redact returns a text as it may be shown: without credentials.
func redact(text string) string {
	if _, err := url.Parse(text); err != nil {
		text = unparsable.ReplaceAllLiteralString(text, "//REDACTED@")
	}
	return credentials.ReplaceAllLiteralString(text, "//REDACTED@")
}
