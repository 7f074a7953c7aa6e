package proxy

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/elnormous/contenttype"
)

// form is what an explanation can be rendered as. Text comes first: it is what a
// client gets that takes anything, a person with curl most likely.
type form uint8

const (
	formText form = iota
	formJSON
	formHTML
)

// mediaTypes are those that there is a form for.
var mediaTypes = []contenttype.MediaType{
	contenttype.NewMediaType("text/plain"),
	contenttype.NewMediaType(typeProblem),
	contenttype.NewMediaType("application/json"),
	contenttype.NewMediaType("text/html"),
	contenttype.NewMediaType("application/xhtml+xml"),
}

// chosen is the form that the Accept fields ask for.
func chosen(accept []string) form {
	switch {
	case len(accept) == 0 || len(accept) == 1 && accept[0] == "*/*":
		return formText
	case len(accept) == 1 && len(accept[0]) <= longAccept:
		return acceptedLately.form(accept[0])
	default:
		return negotiated(strings.Join(accept, ", "))
	}
}

func negotiated(accept string) form {
	m, _, err := contenttype.GetAcceptableMediaTypeFromHeader(accept, mediaTypes)
	switch {
	case err != nil:
		return formText
	case strings.HasSuffix(m.Subtype, "json"):
		return formJSON
	case strings.HasSuffix(m.Subtype, "html"), m.Subtype == "xhtml+xml":
		return formHTML
	default:
		return formText
	}
}

// acceptMemory remembers what some Accept fields ask for: a client sends the
// same one with each request. Of two that fall on one place the later stays.
// Safe for concurrent use.
type acceptMemory struct {
	seed   maphash.Seed
	places [64]atomic.Pointer[accepted]
}

type accepted struct {
	field string
	form  form
}

// longAccept is how long a field may be to be remembered. Those of browsers have
// some 150 octets.
const longAccept = 512

var acceptedLately = acceptMemory{seed: maphash.MakeSeed()}

func (m *acceptMemory) form(field string) form {
	place := &m.places[maphash.String(m.seed, field)%uint64(len(m.places))]
	if a := place.Load(); a != nil && a.field == field {
		return a.form
	}
	f := negotiated(field)
	place.Store(&accepted{strings.Clone(field), f})
	return f
}
