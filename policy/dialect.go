package policy

import (
	"fmt"
	"strings"
)

// Dialect is a way to read a robots.txt and to compare with it: that of one
// parser or of one document. The zero Dialect is RFC9309. It is a small value:
// a few choices that the reader and the matcher look at, no code of its own.
type Dialect struct {
	name string

	// how the file is read
	reading  lineReading
	keys     keySet
	blankEnd bool // a line without comment and without anything else ends a record
	orphans  bool // rules before any group are for everyone
	voidRun  bool // a rule that is ignored does not end a run of user-agent lines
	charset  charset
	naming   naming

	// whose rules count
	choice     choice
	needsRules bool // a group without any is none

	// which rule decides
	precedence precedence
	wildcards  wildcards
	escapes    escapes
	pathOnly   bool // the query is not compared
	indexPages bool // "Allow: /d/index.html" allows "/d/" as well
	emptyAllow emptyRule
	emptyDeny  emptyRule
	robotsTxt  robotsTxtRule

	// what fetching is told
	access   accessRule
	lifetime lifetimeRule
}

// naming says what of a user-agent line's value is the name.
type naming uint8

const (
	tokenWithDigits naming = iota // its longest start of letters, digits, '_' and '-'
	tokenOfLetters                // its longest start of letters, '_' and '-': RFC 9309 §2.2.1
	wholeValue
)

// choice says which groups count for an agent. Names are compared without
// regard to case.
type choice uint8

const (
	everyEqual      choice = iota // all groups that name it, merged; else all for "*"
	firstSimilar                  // the first whose name, a glob, is in the agent's or has it inside
	firstCompletion               // the first whose name starts with the agent's; else the first for "*"
	firstWithin                   // the first whose name is in the agent's; else the first for "*"
	firstAround                   // the first whose name has the agent's inside; else the first for "*"
)

// precedence says which of the rules that match decides.
type precedence uint8

const (
	longestAllow precedence = iota // the longest, Allow on a tie
	longestFirst                   // the longest, the first on a tie
	firstInFile
)

// wildcards says which octets of a pattern are special.
type wildcards uint8

const (
	starAndEnd   wildcards = iota // '*', and '$' at the end
	starAndQuery                  // the same, but '$' is also met by the start of a query
	noWildcards
)

// escapes says how patterns and targets are made comparable, see comparable.go.
type escapes uint8

const (
	normalised    escapes = iota // RFC 9309 §2.2.2
	upperCased                   // escapes get upper-case digits, octets above ASCII are escaped
	decodedButSet                // all are decoded but those of "/?=&"
	decodedText                  // all are decoded but that of '/'; one that is bad, or no UTF-8, voids the rule
	decodedSlash                 // all are decoded but that of '/'
)

// emptyRule says what a rule without a pattern does.
type emptyRule uint8

const (
	decidesNothing emptyRule = iota
	allowsAll                // it matches every target and allows it
	disallowsAll             // it matches every target and disallows it
)

// robotsTxtRule says whether "/robots.txt" is allowed whatever the rules say.
type robotsTxtRule uint8

const (
	robotsTxtAllowed robotsTxtRule = iota
	robotsTxtAsAny
)

// charset says how octets above ASCII are read.
type charset uint8

const (
	asOctets charset = iota
	latin1           // ISO 8859-1, unless something else was declared
	scrubbed         // UTF-8; what is none is taken out
)

// The dialects there are.
var (
	// RFC9309 is the default: the file is read as Google's parser reads it, and
	// paths are compared as RFC 9309 §2.2.2 says.
	RFC9309 = Dialect{}

	// Google is Google's open-source parser of 2019 and later, of which
	// draft-koster-rep-00 is the document.
	Google = Dialect{
		name:       "google",
		naming:     tokenOfLetters,
		escapes:    upperCased,
		indexPages: true,
		robotsTxt:  robotsTxtAsAny,
	}

	// Robotstxt is the robotstxt library for Ruby, and robots for Crystal.
	Robotstxt = Dialect{
		name:       "robotstxt",
		reading:    scrubbedLine,
		keys:       useragentKeys,
		orphans:    true,
		charset:    scrubbed,
		naming:     wholeValue,
		choice:     firstSimilar,
		precedence: firstInFile,
		wildcards:  starAndQuery,
		escapes:    decodedButSet,
		emptyAllow: allowsAll,
		emptyDeny:  allowsAll,
		robotsTxt:  robotsTxtAsAny,
		access:     leftOpen,
	}

	// ApeTest is the robots module of apetest, for Python.
	ApeTest = Dialect{
		name:       "apetest",
		reading:    strictLine,
		keys:       userAgentKeys,
		blankEnd:   true,
		voidRun:    true,
		naming:     wholeValue,
		choice:     firstCompletion,
		precedence: longestFirst,
		wildcards:  noWildcards,
		escapes:    decodedText,
		pathOnly:   true,
		robotsTxt:  robotsTxtAsAny,
		access:     leftOpen,
	}

	// RERP is robotexclusionrulesparser, for Python.
	RERP = Dialect{
		name:       "rerp",
		reading:    strictLine,
		keys:       useragentKeys,
		blankEnd:   true,
		charset:    latin1,
		naming:     wholeValue,
		choice:     firstWithin,
		needsRules: true,
		precedence: firstInFile,
		wildcards:  noWildcards,
		escapes:    decodedSlash,
		emptyAllow: disallowsAll,
		emptyDeny:  allowsAll,
		robotsTxt:  robotsTxtAsAny,
		access:     restrictedAndMissing,
		lifetime:   expiresOrWeek,
	}

	// Koster1996 is the Internet-Draft of 1996 by M. Koster, "A Method for Web
	// Robots Control".
	Koster1996 = Dialect{
		name:       "koster-1996",
		reading:    strictLine,
		keys:       userAgentKeys,
		blankEnd:   true,
		naming:     wholeValue,
		choice:     firstAround,
		precedence: firstInFile,
		wildcards:  noWildcards,
		escapes:    decodedSlash,
		pathOnly:   true,
		emptyDeny:  allowsAll,
		access:     restrictedAndDeferred,
		lifetime:   expiresOrWeek,
	}
)

// Dialects returns every dialect, the default first.
func Dialects() []Dialect {
	return []Dialect{RFC9309, Google, Robotstxt, ApeTest, RERP, Koster1996}
}

// Name is what the dialect is called in a configuration, such as "koster-1996".
func (d Dialect) Name() string {
	if d.name == "" {
		return "rfc9309"
	}
	return d.name
}

// String returns the Name.
func (d Dialect) String() string { return d.Name() }

// DialectNamed returns the dialect of that name, the case of letters aside. The
// error lists the names there are.
func DialectNamed(name string) (Dialect, error) {
	var names []string
	for _, d := range Dialects() {
		if strings.EqualFold(d.Name(), name) {
			return d, nil
		}
		names = append(names, d.Name())
	}
	return Dialect{}, fmt.Errorf("dialect %q is none of %s", name, strings.Join(names, ", "))
}
