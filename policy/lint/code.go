package lint

// Severity says how bad it is what a Diagnostic tells.
type Severity uint8

// The severities there are, in rising order.
const (
	Note    Severity = iota // every crawler that follows RFC 9309 reads it as it was meant
	Warning                 // some crawlers read it otherwise, or it has no effect
	Error                   // it has no effect, or not the one that it seems to have
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	}
	return "error"
}

// Code names what a Diagnostic is about. Codes are stable: one keeps its name
// and its meaning from version to version.
type Code string

// The codes there are. docs/lint.md has a row and an example of each.
const (
	// the file
	ByteOrderMark Code = "byte-order-mark"
	HTML          Code = "html"
	LoneCR        Code = "lone-cr"
	NUL           Code = "nul"
	NotUTF8       Code = "not-utf-8"
	LongLine      Code = "long-line"
	OverLimit     Code = "over-limit"
	NoGroup       Code = "no-group"

	// the line
	SpaceBeforeField    Code = "space-before-field"
	SpaceBeforeColon    Code = "space-before-colon"
	MissingColon        Code = "missing-colon"
	UnreadableLine      Code = "unreadable-line"
	ForgivenMisspelling Code = "forgiven-misspelling"
	MisspeltField       Code = "misspelt-field"
	UnknownField        Code = "unknown-field"

	// the group
	RuleBeforeGroup     Code = "rule-before-group"
	UserAgentAfterRules Code = "user-agent-after-rules"
	BlankLineInGroup    Code = "blank-line-in-group"
	GroupWithoutRules   Code = "group-without-rules"
	DuplicateGroup      Code = "duplicate-group"
	DuplicateAgent      Code = "duplicate-agent"
	AgentWithoutName    Code = "agent-without-name"
	AgentVersion        Code = "agent-version"
	AgentOctets         Code = "agent-octets"
	AgentDigits         Code = "agent-digits"

	// the rule
	PatternWithoutSlash Code = "pattern-without-slash"
	PatternIsURL        Code = "pattern-is-url"
	EmptyAllow          Code = "empty-allow"
	EmptyAmongRules     Code = "empty-among-rules"
	DollarInside        Code = "dollar-inside"
	StarAtEnd           Code = "star-at-end"
	DoubleStar          Code = "double-star"
	CommentInValue      Code = "comment-in-value"
	RepeatedRule        Code = "repeated-rule"
	HiddenRule          Code = "hidden-rule"
	RobotsTxtRule       Code = "robots-txt-rule"

	// the octets of a pattern
	BadEscape         Code = "bad-escape"
	EscapeNotUTF8     Code = "escape-not-utf-8"
	EscapedUnreserved Code = "escaped-unreserved"
	EscapedSlash      Code = "escaped-slash"
	LowerCaseEscape   Code = "lower-case-escape"
	RawOctet          Code = "raw-octet"
	RawASCII          Code = "raw-ascii"

	// other records
	RelativeSitemap    Code = "relative-sitemap"
	BadCrawlDelay      Code = "bad-crawl-delay"
	CrawlDelayFraction Code = "crawl-delay-fraction"
	SeveralCrawlDelays Code = "several-crawl-delays"
	BadRequestRate     Code = "bad-request-rate"
	BadVisitTime       Code = "bad-visit-time"
	RecordBeforeGroup  Code = "record-before-group"

	// all together
	DialectsDisagree Code = "dialects-disagree"
)

// codes is every code with its severity and what it says of a file.
var codes = []struct {
	code     Code
	severity Severity
	summary  string
}{
	{ByteOrderMark, Warning, "the file begins with a byte order mark"},
	{HTML, Error, "the file is HTML, not robots.txt"},
	{LoneCR, Warning, "lines end with CR alone"},
	{NUL, Error, "a line has a NUL"},
	{NotUTF8, Warning, "a line is not UTF-8"},
	{LongLine, Error, "a line is longer than what crawlers read of it"},
	{OverLimit, Error, "the file is longer than what crawlers have to read"},
	{NoGroup, Note, "the file has no group"},

	{SpaceBeforeField, Warning, "there is white space before a field"},
	{SpaceBeforeColon, Warning, "there is white space before the colon"},
	{MissingColon, Error, "a field has no colon"},
	{UnreadableLine, Error, "a line has no field that could be read"},
	{ForgivenMisspelling, Warning, "a field is misspelt in a way that some crawlers forgive"},
	{MisspeltField, Error, "a field looks like a misspelt one"},
	{UnknownField, Note, "a field is not known"},

	{RuleBeforeGroup, Error, "a rule stands before any user-agent line"},
	{UserAgentAfterRules, Note, "a group begins without an empty line before it"},
	{BlankLineInGroup, Warning, "an empty line divides a group"},
	{GroupWithoutRules, Warning, "a group has no rules"},
	{DuplicateGroup, Warning, "a group is for the same agents as an earlier one"},
	{DuplicateAgent, Warning, "an agent was named before"},
	{AgentWithoutName, Error, "a user-agent line names no crawler"},
	{AgentVersion, Warning, "an agent has a version"},
	{AgentOctets, Warning, "an agent goes on after its product token"},
	{AgentDigits, Note, "an agent's product token has digits"},

	{PatternWithoutSlash, Error, "a pattern begins with neither a slash nor an asterisk"},
	{PatternIsURL, Error, "a pattern is a URL"},
	{EmptyAllow, Warning, "an Allow is empty"},
	{EmptyAmongRules, Warning, "a Disallow is empty though its group has other rules"},
	{DollarInside, Warning, "a dollar sign is not at the end of its pattern"},
	{StarAtEnd, Note, "a pattern ends with an asterisk"},
	{DoubleStar, Note, "a pattern has asterisks in a row"},
	{CommentInValue, Warning, "a number sign cuts off the end of a value"},
	{RepeatedRule, Warning, "a rule says again what an earlier one says"},
	{HiddenRule, Warning, "a rule can never decide"},
	{RobotsTxtRule, Note, "a rule is about robots.txt itself"},

	{BadEscape, Error, "a percent sign begins no escape"},
	{EscapeNotUTF8, Warning, "escapes stand for octets that are not UTF-8"},
	{EscapedUnreserved, Warning, "an escape stands for an octet that needs none"},
	{EscapedSlash, Note, "a slash is escaped"},
	{LowerCaseEscape, Note, "an escape has digits in lower case"},
	{RawOctet, Warning, "an octet above ASCII is not escaped"},
	{RawASCII, Warning, "an octet that no URL has is not escaped"},

	{RelativeSitemap, Error, "a sitemap is not given by its whole URL"},
	{BadCrawlDelay, Error, "a Crawl-delay cannot be read, or is more than a day"},
	{CrawlDelayFraction, Note, "a Crawl-delay has a fraction"},
	{SeveralCrawlDelays, Warning, "a group has several Crawl-delays that differ"},
	{BadRequestRate, Error, "a Request-rate cannot be read, or has more than a day between requests"},
	{BadVisitTime, Error, "a Visit-time cannot be read"},
	{RecordBeforeGroup, Warning, "a record that belongs to a group stands before any"},

	{DialectsDisagree, Note, "crawlers of different dialects answer otherwise"},
}

var severities = func() map[Code]Severity {
	m := make(map[Code]Severity, len(codes))
	for _, c := range codes {
		m[c.code] = c.severity
	}
	return m
}()

// Codes returns every code, in the order of docs/lint.md.
func Codes() []Code {
	all := make([]Code, len(codes))
	for i, c := range codes {
		all[i] = c.code
	}
	return all
}

// Severity returns how bad it is; the same for all diagnostics of a code.
func (c Code) Severity() Severity { return severities[c] }

// Summary says in a few words what the code says of a file, "" for a code that
// is none.
func (c Code) Summary() string {
	for _, known := range codes {
		if known.code == c {
			return known.summary
		}
	}
	return ""
}
