package agent

import (
	"iter"
	"strings"
)

// productToken returns the token of a word outside comments, a product with or
// without its version, or "" if it has none, as an address. A number with a
// version is a name (008/0.83 is a crawler), one without is most likely a
// version that lost its slash.
func productToken(word string) (token string, number bool) {
	if isAddress(word) {
		return "", false
	}
	name, _, versioned := strings.Cut(word, "/")
	token = cut(name)
	return token, !versioned && isNumber(token)
}

// commentTokens yields the tokens of one part of a comment, less the generic ones. A
// part of one word is a name ("ExampleBot"). Of several words those with a
// version are names ("ExampleBot/0.1 beta"); the others are prose ("like
// Gecko", "Windows NT 10.0").
func commentTokens(part string) iter.Seq[string] {
	return func(yield func(string) bool) {
		bare := isBare(part)
		for word := range strings.FieldsFuncSeq(part, isBlank) {
			name, _, versioned := strings.Cut(word, "/")
			if !versioned && !bare || isAddress(word) || strings.ContainsAny(name, ".:") {
				continue
			}
			token := cut(name)
			if token == "" || generic(token) || bare && (isLocale(token) || isNumber(token)) {
				continue
			}
			if !yield(token) {
				return
			}
		}
	}
}

// cut returns the octets at the start of a name that a product token can
// have, or "" if they are dashes alone. As in the user-agent lines of a
// robots.txt, digits count (MJ12bot), though RFC 9309 §2.2.1 lacks them.
func cut(name string) string {
	end := 0
	for end < len(name) && (isLetter(name[end]) || isFurther(name[end])) {
		end++
	}
	if strings.Trim(name[:end], "-_") == "" {
		return ""
	}
	return name[:end]
}

// isNumber reports whether a token has no letter.
func isNumber(token string) bool {
	for i := range len(token) {
		if isLetter(token[i]) {
			return false
		}
	}
	return true
}

// isBare reports whether a part of a comment is one word without a version.
func isBare(part string) bool { return !strings.ContainsAny(part, " \t/") }

// isAndroid reports whether a part of a comment names Android, with or without
// a version.
func isAndroid(part string) bool {
	const android = "android"
	return len(part) >= len(android) && strings.EqualFold(part[:len(android)], android) &&
		(len(part) == len(android) || isBlank(rune(part[len(android)])))
}

// isAddress reports whether a word tells where to find its owner: a URL, a
// host, an e-mail address.
func isAddress(word string) bool {
	return strings.HasPrefix(word, "+") || strings.HasPrefix(word, "www.") ||
		strings.Contains(word, "://") || strings.Contains(word, "@")
}

// isLocale reports whether a word is a language, which browsers used to state
// between the system and the engine: "de", "en-us", "pt_BR".
func isLocale(word string) bool {
	if len(word) != 2 && len(word) != 5 || strings.ToLower(word[:2]) != word[:2] || !isLetter(word[0]) || !isLetter(word[1]) {
		return false
	}
	return len(word) == 2 || (word[2] == '-' || word[2] == '_') && isLetter(word[3]) && isLetter(word[4])
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// isFurther reports whether c is an octet of product tokens besides letters.
func isFurther(c byte) bool { return '0' <= c && c <= '9' || c == '-' || c == '_' }

func isBlank(r rune) bool { return r == ' ' || r == '\t' }
