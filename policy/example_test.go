package policy_test

import (
	"fmt"

	"heed/policy"
)

func Example() {
	rules := policy.Compile([]byte(`User-agent: ExampleBot
Disallow: /private/
Allow: /private/press/

User-agent: *
Disallow: /
`), policy.Options{})

	for _, target := range []string{"/private/plans", "/private/press/2026", "/news?page=2"} {
		fmt.Println(target, rules.Decide([]string{"ExampleBot"}, target))
	}
	fmt.Println(rules.Decide([]string{"OtherBot"}, "/news"))
	// Output:
	// /private/plans disallowed by "Disallow: /private/" (line 2) in the group of "ExampleBot" (line 1)
	// /private/press/2026 allowed by "Allow: /private/press/" (line 3) in the group of "ExampleBot" (line 1)
	// /news?page=2 allowed: no rule in the group of "ExampleBot" (line 1) matches
	// disallowed by "Disallow: /" (line 6) in the group of "*" (line 5)
}

// What a forward proxy asks: the client calls itself by two names, and writes
// the target so that no rule matches it as it is.
func ExampleSnapshot_Decide() {
	snapshot := &policy.Snapshot{
		URL:    "https://a.example/robots.txt",
		Access: policy.Successful,
		Rules:  policy.Compile([]byte("User-agent: *\nDisallow: /private/\n"), policy.Options{}),
	}
	client := policy.Tokens{Main: []string{"ExampleBot"}, Also: []string{"OtherBot"}}

	fmt.Println(snapshot.Decide(client, "/public/%2e%2e/private/plans"))
	// Output:
	// disallowed by "Disallow: /private/" (line 2) in the group of "*" (line 1), which the target meets as "/private/plans"
}
