package lint_test

import (
	"testing"

	"heed/policy/lint"
)

// usual is a file as many sites have it, with a few faults.
const usual = "# robots\nUser-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\nDisallow: /*?s=*\nDisallow: /caf\u00e9\n\n" +
	"User-agent: ExampleBot/1.0\nDisallow: /\nCrawl-delay: 10\n\nSitemap: https://a.example/sitemap.xml\n"

func BenchmarkCheck(b *testing.B) {
	for name, body := range map[string]string{"usual": usual, "37,000 rules": hostile["other rules"], "32,000 wildcards": hostile["wildcards"]} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				lint.Check([]byte(body), lint.Options{})
			}
		})
	}
}

func BenchmarkFix(b *testing.B) {
	for name, body := range map[string]string{"usual": usual, "37,000 rules": hostile["other rules"]} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				lint.Fix([]byte(body))
			}
		})
	}
}
