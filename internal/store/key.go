package store

import (
	"bytes"
	"errors"

	"heed/internal/origin"
)

// A key is an origin's host, scheme and port, each with its end marked, so that
// keys sort by host and no two origins share one, whatever octets a host has.
// Within a part NUL is written as NUL 0xFF; NUL 0x01 ends it.
const (
	nul       = 0x00
	nulItself = 0xFF
	partEnd   = 0x01
)

// longestKey is what bbolt takes.
const longestKey = 32768

var errKey = errors.New("not the key of an origin")

func keyOf(o origin.Origin) []byte {
	key := make([]byte, 0, len(o.Host)+len(o.Scheme)+len(o.Port)+6)
	key = appendPart(key, o.Host)
	key = appendPart(key, o.Scheme)
	return appendPart(key, o.Port)
}

// hostPrefix is what the keys of all origins of a host begin with.
func hostPrefix(host string) []byte { return appendPart(nil, host) }

func appendPart(key []byte, part string) []byte {
	for i := range len(part) {
		key = append(key, part[i])
		if part[i] == nul {
			key = append(key, nulItself)
		}
	}
	return append(key, nul, partEnd)
}

// originOf is the reverse of keyOf.
func originOf(key []byte) (origin.Origin, error) {
	var parts [3]string
	rest := key
	for i := range parts {
		var ok bool
		if parts[i], rest, ok = cutPart(rest); !ok {
			return origin.Origin{}, errKey
		}
	}
	if len(rest) > 0 {
		return origin.Origin{}, errKey
	}
	return origin.Origin{Host: parts[0], Scheme: parts[1], Port: parts[2]}, nil
}

func cutPart(key []byte) (part string, rest []byte, ok bool) {
	var text []byte
	for {
		i := bytes.IndexByte(key, nul)
		if i < 0 || i+1 >= len(key) {
			return "", nil, false
		}
		text = append(text, key[:i]...)
		mark := key[i+1]
		key = key[i+2:]
		switch mark {
		case partEnd:
			return string(text), key, true
		case nulItself:
			text = append(text, nul)
		default:
			return "", nil, false
		}
	}
}
