// Package policy reads robots.txt and decides, by RFC 9309, whether a target
// may be requested.
//
// It is pure: octets in, decisions out. It opens no connection, reads no clock
// and no file.
//
//	rules := policy.Compile(body, policy.Options{})
//	decision := rules.Decide([]string{"ExampleBot"}, "/private/page?id=1")
//	if !decision.Allowed {
//		fmt.Println(decision) // disallowed by "Disallow: /private/" (line 2) …
//	}
//
// # How the file is read
//
// As Google's parser reads it, since site owners test their files with Google's
// tools: lines end at LF, CR or CR LF; the first 16,663 octets of a line count;
// a comment runs from '#' to the end of the line; a missing colon and the usual
// misspellings of Disallow are forgiven; a record that is no rule and no
// user-agent line neither opens, closes nor splits a group. Compile never
// fails: what can be understood counts (RFC 9309 §2.2.4, §2.3.1.5).
//
// [Lines] yields the lines so read, for those who want more of a file than its
// rules; heed's lint is one of them.
//
// One deviation: a product token may hold digits. "MJ12bot" on a user-agent
// line names MJ12bot and nobody else, where RFC 9309 §2.2.1 would end the name
// at the first digit.
//
// # How a target is compared
//
// As RFC 9309 §2.2.2 says, and not octet for octet, because a guard that did so
// could be stepped round by encoding one letter. Patterns and targets are
// normalised alike: escapes of unreserved octets are decoded, other escapes get
// upper-case digits, every octet that is neither unreserved nor reserved is
// escaped. Of the rules that match, the one with the longest normalised pattern
// decides, Allow before Disallow where two are equally long, the earlier line
// where both say the same. No match means allowed, and so does /robots.txt.
//
// # What a proxy adds
//
// [Snapshot.Decide] is the question a forward proxy asks. It adds two things,
// both of which can only turn an allowed target into a disallowed one: further
// names that the client gives itself ([Tokens]), and the other forms in which
// an origin may understand the target, such as "//private" or
// "/pub/%2e%2e/private" for "/private".
//
// # Other readings
//
// A [Dialect] is how another parser, or an older document, reads and compares:
// Options.Dialect takes one, [Dialects] lists them, and docs/dialects.md has
// what each does. With Options.Cautious a body is read as all of them do, and
// [Snapshot.Decide] disallows what any of them disallows.
//
// # Other records
//
// Sitemap, Crawl-delay and all other records are kept with their lines, see
// [Policy.Records] and [Policy.RecordsFor]. They decide nothing. [ParseCrawlDelay]
// and its like read their values.
//
// What Crawl-delay, Request-rate and Visit-time ask of a client is [Policy.Pace].
// Their values are read when the file is compiled; a file has sixteen octets for
// each that counts, and those without are told at once.
//
// # How a verdict is found
//
// The groups of a token were merged when the file was compiled, so a token is
// looked up once, by a binary search. Patterns that are a mere prefix, and those that end
// with '$' and have no other wildcard, are sorted: a binary search, by eight
// octets at a time, finds the last that does not come after the path, and that
// one or one of its prefixes decides among them. Patterns with other wildcards
// are tried from the longest to the shortest, as long as they are longer than
// what was found; most are ruled out by 64 bits that tell which pairs of octets
// a path has. Since '*' is the only wildcard, taking the earliest place for
// every literal between two of them is right, and nothing is tried twice.
//
// # Cost
//
// Compile takes time proportional to the octets read, but for the sorting of
// rules and names, and memory proportional to them: a rule is kept once for its
// own group, and once more where groups are merged, which is done only as long
// as no more rules are kept twice than there are. Where that is not enough, for
// tokens that share groups in many ways, each of a token's groups is looked in.
//
// Decide takes no lock and allocates nothing, but for a target that is not
// normalised and more than 1 KiB long once it is, and for a token of more than
// 64 octets that a group may name. The other dialects but Google do allocate:
// only people and caution ask them. It takes at worst O(pattern octets + path
// octets × rules with a wildcard): a tenth of a second for 500 KiB of patterns
// made to be slow and a path of 8 KiB made for them, and the longer the path the
// more, where real files take a tenth of a microsecond. Snapshot.Decide does that for each token, and for all
// forms of the target together takes a few times as long at most; where they
// would take longer it disallows. The usual target has none. Caution multiplies
// it by the number of dialects.
//
// Everything exported is safe for concurrent use: a Policy and a Snapshot do
// not change once made.
package policy

import "unsafe"

// DefaultLimit is how many octets of a robots.txt are read unless Options say
// otherwise: the least that RFC 9309 §2.5 lets a parser read.
const DefaultLimit = 500 << 10

// maxLimit keeps offsets into the text of a Policy within 32 bits: a Policy
// holds less than eight octets of text for each octet read.
const maxLimit = 512 << 20

// Options tell Compile how to read. The zero value is the default.
type Options struct {
	// Limit is how many octets are read. Zero means DefaultLimit, as does any
	// smaller limit; one above 512 MiB means 512 MiB. A line that the limit
	// cuts is dropped. Compile knows that a body goes beyond the limit only if
	// it is given at least one octet more.
	Limit int

	// Dialect is whose reading it is. The zero value is RFC9309.
	Dialect Dialect

	// Decoded tells that the charset of the body was declared, and that the
	// body is in UTF-8 now. It matters to RERP alone, which takes a body of
	// undeclared charset for ISO 8859-1.
	Decoded bool

	// Cautious has the body read as every other dialect reads it, too, so that
	// Snapshot.Decide can disallow what any of them does. It takes several
	// times the time and memory.
	Cautious bool

	// Strict has Snapshot.Decide disallow what is disallowed as an origin may take
	// it that hardly any is: decoded more than once, without what segments have
	// behind a semicolon, or in another case. It takes twice the memory.
	Strict bool

	// Other is the same body in other octets, where it is in doubt in which
	// charset it is to be read. Snapshot.Decide disallows what either does. Nil:
	// there is no doubt.
	Other []byte
}

func (o Options) limit() int {
	return min(max(o.Limit, DefaultLimit), maxLimit)
}

// Policy is a compiled robots.txt. The zero Policy is that of an empty file.
// It is immutable and safe for concurrent use.
//
// It refers to its text by offsets, so that it is a few flat pieces of memory
// however many rules it has.
type Policy struct {
	text      string    // rules, patterns, names and records that the rest points into
	rules     []rule    // those of a set lie side by side
	sets      []set     // none at 0
	keys      []key     // of the sorted rules of the sets
	hints     []hint    // of the ordered rules of the sets that have many
	groups    []group   // in file order
	mentions  []mention // in file order
	named     []uint32  // places of mentions: those of a token side by side, one a group, in file order
	tokens    []token   // sorted by name, without "*"
	records   []record  // in file order
	paces     []pace    // what records say of pace, by their groups
	global    token     // "*"
	nameHints uint64    // those of the names of tokens
	dialect   Dialect
	wildcards uint32 // rules of all sets of the shape patterns
	queries   bool   // a set has patterns that differ once their query is decoded
	truncated bool
	next      *Policy // the same body as another dialect reads it, or in other octets, and so on; nil unless Options.Cautious or Options.Other
	folded    *Policy // the same body in lower case; nil unless Options.Strict
}

// span is a run of elements of a slice: from is the first, to the one after the
// last.
type span struct{ from, to uint32 }

// group is the rules that follow a run of user-agent lines.
type group struct {
	mentions span // of Policy.mentions
	rules    pair // none if they are looked for elsewhere, see compiler.lookIn
}

// mention is a user-agent line.
type mention struct {
	group   uint32
	line    uint32
	text    uint32 // offset of its value as written
	textLen uint16
}

// Truncated tells whether the body went on beyond the limit of Options.
func (p *Policy) Truncated() bool { return p.truncated }

// Dialect is whose reading it is.
func (p *Policy) Dialect() Dialect { return p.dialect }

// Size is the memory that the Policy holds, in octets, approximately.
func (p *Policy) Size() int {
	size := int(unsafe.Sizeof(*p)) + p.held() + len(p.text)
	for _, also := range []*Policy{p.next, p.folded} {
		if also != nil {
			size += also.Size()
		}
	}
	return size
}
