package policy_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"heed/policy"
)

// typical is a file of common size and shape: a few groups, a few dozen rules,
// some of them with wildcards.
var typical = func() []byte {
	var b bytes.Buffer
	for _, bot := range []string{"GPTBot", "CCBot", "ClaudeBot", "MJ12bot"} {
		fmt.Fprintf(&b, "User-agent: %s\n", bot)
	}
	b.WriteString("Disallow: /\n\nUser-agent: *\nCrawl-delay: 5\n")
	for i := range 40 {
		fmt.Fprintf(&b, "Disallow: /section-%d/private/\n", i)
	}
	b.WriteString("Disallow: /*?sort=\nDisallow: /*.pdf$\nAllow: /section-7/private/press/\n")
	b.WriteString("Sitemap: https://a.example/sitemap.xml\n")
	return b.Bytes()
}()

// hostile returns 500 KiB of rules that are as slow as can be for a matcher
// that tries every place for every '*': "/*a*a*a…b", of octets octets each.
func hostile(octets int) []byte {
	pattern := "/*" + strings.Repeat("a*", (octets-3)/2) + "b"
	line := "Disallow: " + pattern + "\n"
	body := "User-agent: *\n"
	return []byte(body + strings.Repeat(line, (policy.DefaultLimit-len(body))/len(line)))
}

var hostileOctets = []int{5, 101, 1001, 16_001}

// hostilePaths are 8 KB paths that no hostile rule matches, though the first
// holds no 'b' at all and the second does, and has to be searched to the end.
var hostilePaths = []struct{ name, path string }{
	{"without-b", "/" + strings.Repeat("a", 8<<10)},
	{"b-first", "/b" + strings.Repeat("a", 8<<10)},
}

func BenchmarkDecide(b *testing.B) {
	p := policy.Compile(typical, policy.Options{})
	for _, c := range []struct{ name, token, target string }{
		{"group", "gptbot", "/section-7/index.html"},
		{"global", "ExampleBot", "/section-7/private/page.html"},
		{"no-match", "ExampleBot", "/articles/2026/a-page-of-some-length.html?id=17"},
		{"escaped", "ExampleBot", "/articles/caf%c3%a9/a-page-of-some-length.html"},
	} {
		tokens := []string{c.token}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(tokens, c.target)
			}
		})
	}
}

func BenchmarkSnapshotDecide(b *testing.B) {
	s := &policy.Snapshot{Rules: policy.Compile(typical, policy.Options{})}
	t := policy.Tokens{Main: []string{"ExampleBot"}, Also: []string{"OtherBot"}}
	for _, c := range []struct{ name, target string }{
		{"usual", "/articles/2026/a-page-of-some-length.html?id=17"},
		{"forms", "/articles//2026/./a%2fpage.html?to=https%3A%2F%2Fa.example"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Decide(t, c.target)
			}
		})
	}
}

// The bound is 20 ms for one decision.
func BenchmarkDecideHostile(b *testing.B) {
	for _, octets := range hostileOctets {
		p := policy.Compile(hostile(octets), policy.Options{})
		for _, c := range hostilePaths {
			b.Run(fmt.Sprintf("octets=%d/%s", octets, c.name), func(b *testing.B) {
				for b.Loop() {
					p.Decide(nil, c.path)
				}
			})
		}
	}
}

// The bound is 100 ms for one file.
func BenchmarkCompileHostile(b *testing.B) {
	for _, octets := range hostileOctets {
		body := hostile(octets)
		b.Run(fmt.Sprintf("octets=%d", octets), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				policy.Compile(body, policy.Options{})
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		policy.Compile(typical, policy.Options{})
	}
}

// BenchmarkRealFiles measures over the whole of the real files: an operation is
// one compilation, or one decision, and octets are those of the files.
func BenchmarkRealFiles(b *testing.B) {
	needReal(b)
	type query struct {
		policy *policy.Policy
		agent  string
		target string
	}
	var bodies [][]byte
	var queries []query
	octets, held := 0, 0
	eachRealFile(b, func(file *realFile) {
		p := compileWhole(file.Robots)
		bodies = append(bodies, file.Robots)
		octets += len(file.Robots)
		held += p.Size()
		for _, q := range file.Queries {
			queries = append(queries, query{p, q.agent, policy.TargetOf(q.url)})
		}
	})
	// What is asked lies side by side in the order in which it is asked: a proxy
	// has just read its target, and does not wait for it.
	var text strings.Builder
	for _, q := range queries {
		text.WriteString(q.agent + q.target)
	}
	rest, tokens := text.String(), make([]string, len(queries))
	for i := range queries {
		q := &queries[i]
		tokens[i], rest = rest[:len(q.agent)], rest[len(q.agent):]
		q.target, rest = rest[:len(q.target)], rest[len(q.target):]
	}
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			q := &queries[i]
			q.policy.Decide(tokens[i:i+1], q.target)
			if i++; i == len(queries) {
				i = 0
			}
		}
	})
	// The same, but each file is asked about some times over before the next, as
	// a crawl of one site does: its rules are near by then.
	b.Run("decide-again", func(b *testing.B) {
		const times = 8
		b.ReportAllocs()
		from, to, i, again := 0, 0, 0, 0
		for b.Loop() {
			if i == to {
				if again++; again < times && to > from {
					i = from
				} else {
					from, again = to%len(queries), 0
					i = from
					for to = from; to < len(queries) && queries[to].policy == queries[from].policy; {
						to++
					}
				}
			}
			q := &queries[i]
			q.policy.Decide(tokens[i:i+1], q.target)
			i++
		}
	})
	// What of compiling is finding the lines and what they are.
	b.Run("lines", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			for range policy.Lines(bodies[i%len(bodies)]) {
			}
			i++
		}
	})
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		i, read := 0, 0
		for b.Loop() {
			body := bodies[i%len(bodies)]
			compileWhole(body)
			read += len(body)
			i++
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(read), "ns/octet")
		b.ReportMetric(float64(held)/float64(octets), "held/octet")
	})
}
