package lint_test

import (
	"fmt"

	"heed/policy/lint"
)

func ExampleCheck() {
	body := []byte("User-agent: *\nDisalow: /private/\nDisallow: secret\n")
	for _, d := range lint.Check(body, lint.Options{}).Diagnostics {
		if d.Severity > lint.Note {
			fmt.Println(d)
		}
	}
	// Output:
	// 2:1: warning: heed and Google read "Disalow" as Disallow, while other crawlers pass over it; write Disallow [forgiven-misspelling]
	// 3:11: error: the rule never matches: every path begins with /; write "/secret", or "*secret" for any place in the path [pattern-without-slash]
}

func ExampleFix() {
	body := []byte("user-agent : ExampleBot/2.1\r\n  Disalow /caf\u00e9 # no\r\nDisallow: secret\r\n")
	fmt.Printf("%s", lint.Fix(body))
	// Output:
	// User-agent: ExampleBot
	// Disallow: /caf%C3%A9 # no
	// # Disallow: secret
}
