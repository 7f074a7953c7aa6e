package origin

import (
	"errors"
	"strings"
)

// Closest holds what is said of origins: of one origin, of a host on every scheme
// and port, or, by *.NAME, of every host below a name. Of several things that
// are said of one origin the closest counts: the origin's own, else that of its
// host, else that for the longest *.NAME. The order in which they are said means
// nothing, and no two can be said of the same.
//
// The zero value holds nothing. It is not safe for concurrent use while Add is
// called.
type Closest[V any] struct {
	origins map[Origin]V
	hosts   map[string]V
	below   map[string]V // by NAME of *.NAME
}

// ErrSaidTwice is what Add fails with where something is said of the same already.
var ErrSaidTwice = errors.New("there is another")

// Add says v of an origin, or of a host, the other being zero. A host is in
// Origin's form, with *. before it for all below it.
func (c *Closest[V]) Add(o Origin, host string, v V) error {
	name, below := strings.CutPrefix(host, "*.")
	switch {
	case (o == Origin{}) == (host == ""):
		return errors.New("applies to an origin or to a host, to one of the two")
	case host == "":
		return say(&c.origins, o, v)
	case below:
		return say(&c.below, name, v)
	default:
		return say(&c.hosts, name, v)
	}
}

func say[K comparable, V any](all *map[K]V, key K, v V) error {
	if _, said := (*all)[key]; said {
		return ErrSaidTwice
	}
	if *all == nil {
		*all = map[K]V{}
	}
	(*all)[key] = v
	return nil
}

// Find returns the closest thing said of o that counts, which all do where
// counts is nil, and whether there is any. It asks a map once for the origin,
// once for the host, and once for each dot in the host; it allocates nothing.
func (c *Closest[V]) Find(o Origin, counts func(V) bool) (v V, found bool) {
	if v, said := c.origins[o]; said && (counts == nil || counts(v)) {
		return v, true
	}
	if v, said := c.hosts[o.Host]; said && (counts == nil || counts(v)) {
		return v, true
	}
	for rest := o.Host; len(c.below) > 0; {
		_, name, more := strings.Cut(rest, ".")
		if !more {
			break
		}
		if v, said := c.below[name]; said && (counts == nil || counts(v)) {
			return v, true
		}
		rest = name
	}
	return v, false
}

// Len is of how many origins, hosts and names something is said.
func (c *Closest[V]) Len() int { return len(c.origins) + len(c.hosts) + len(c.below) }
