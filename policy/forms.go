package policy

import (
	"slices"
	"strings"
)

// form is one way in which an origin may understand a target.
type form struct {
	target     string // normalised path and query
	comparison comparison
}

// forms returns the ways in which origins may understand target, other than as
// it is received, without repetition. decoded tells whether there are patterns
// that differ once their query is decoded.
//
// Most origins do not serve the path that they receive but one made of it:
// nginx, Apache and others remove dot segments and merge slashes, some decode
// "%2F" before they do, some take a backslash for a slash. Which of these an
// origin does, and in which order, cannot be known, so every combination is a
// form. Most origins decode the query as well, see decodeQuery.
//
// There are never more than 31: four choices of what is a slash, four ways with
// segments, two with the query, less the target as it is received. They are
// appended to all, which is empty.
func forms(all []form, target string, decoded bool) []form {
	received, query := target, ""
	if i := strings.IndexByte(target, '?'); i >= 0 {
		received, query = target[:i], normalTarget(target[i:])
	}
	var room [16]string
	paths := append(room[:0], normalTarget(received))
	if hasForms(received, false) {
		paths = pathForms(paths, received)
	}
	for _, path := range paths[1:] {
		all = append(all, form{path + query, comparePlain})
	}
	if clear := decodeQuery(query); query != "" && (decoded || clear != query) {
		for _, path := range paths {
			all = append(all, form{path + clear, compareQueryDecoded})
		}
	}
	return all
}

// mostForms is how many there are at most.
const mostForms = 31

// pathForms appends to paths, which has the normalised path, what else it may be
// taken for.
func pathForms(paths []string, received string) []string {
	var room [4]string
	for _, path := range slashVariants(room[:0], received) {
		paths = addUnlessThere(paths, path)
		removed := removeDotSegments(path)
		if strings.Contains(path, "//") {
			paths = addUnlessThere(paths, removeDotSegments(mergeSlashes(path)))
		}
		paths = addUnlessThere(paths, removed)
		paths = addUnlessThere(paths, mergeSlashes(removed))
	}
	return paths
}

func addUnlessThere(paths []string, path string) []string {
	if slices.Contains(paths, path) {
		return paths
	}
	return append(paths, path)
}

// hasForms tells, at little cost, whether forms could return any. The usual
// target has none.
func hasForms(target string, decoded bool) bool {
	for i := 0; i < len(target); i++ {
		if !mayForm[target[i]] {
			continue
		}
		rest := target[i+1:]
		switch target[i] {
		case '?':
			return decoded || strings.IndexByte(rest, '%') >= 0
		case '\\':
			return true
		case '%':
			if len(rest) >= 2 && rest[0] == '2' && (lower(rest[1]) == 'e' || lower(rest[1]) == 'f') {
				return true // a dot or a slash
			}
		case '/':
			if rest != "" && (rest[0] == '/' || rest[0] == '.' && !startsName(rest[1:])) {
				return true
			}
		}
	}
	return false
}

// mayForm are the octets that hasForms looks at.
var mayForm = [256]bool{'?': true, '\\': true, '%': true, '/': true}

// startsName tells whether a segment that begins with a dot and goes on with
// rest is neither "." nor "..", by the one octet that tells most: "/.well-known"
// is common, and no dot segment.
func startsName(rest string) bool {
	return rest != "" && strings.IndexByte(`./\%?`, rest[0]) < 0
}

// slashVariants appends the normalised path with each choice of what counts as
// a slash besides '/': "%2F", a backslash, both, or neither. A backslash is
// told from "%5C" here only, before normalisation makes them one: an origin
// that takes the one for a slash need not take the other.
func slashVariants(variants []string, received string) []string {
	variants = append(variants, normalTarget(received))
	if strings.Contains(received, `\`) {
		variants = append(variants, normalTarget(strings.ReplaceAll(received, `\`, "/")))
	}
	for _, path := range variants {
		if strings.Contains(path, "%2F") {
			variants = append(variants, strings.ReplaceAll(path, "%2F", "/"))
		}
	}
	return variants
}

// mergeSlashes makes one slash of each run of them.
func mergeSlashes(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	merged := make([]byte, 0, len(path))
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			merged = append(merged, path[i])
		}
	}
	return string(merged)
}

// removeDotSegments removes "." and ".." from a path that begins with a slash,
// as RFC 3986 §5.2.4 does.
func removeDotSegments(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	var buffer [256]byte // as most paths fit in
	kept := buffer[:0]
	for path != "" {
		end := len(path)
		if i := strings.IndexByte(path[1:], '/'); i >= 0 {
			end = 1 + i
		}
		segment := path[:end]
		path = path[end:]
		switch segment {
		case "/.":
		case "/..":
			for len(kept) > 0 && kept[len(kept)-1] != '/' {
				kept = kept[:len(kept)-1]
			}
			kept = kept[:max(len(kept)-1, 0)]
		default:
			kept = append(kept, segment...)
			continue
		}
		if path == "" {
			kept = append(kept, '/') // the last segment named a directory
		}
	}
	return string(kept)
}
