package load

import (
	"bytes"
	"fmt"
	"strings"
)

// The sizes of the bodies that the origin has.
const (
	KiB   = 1 << 10
	Small = KiB
	Mid   = 64 * KiB
	Large = 10 * KiB * KiB
)

// variants is how many pages there are of a size, so that no request is like
// the one before.
const variants = 16

// Disallowed is what Robots disallows everybody.
const Disallowed = "/internal/"

// Robots is a robots.txt as they are: 40 lines, of which no rule but
// Disallowed's is about a page that is asked for.
const Robots = `# All crawlers
User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /wp-login.php
Disallow: /search
Disallow: /*?s=
Disallow: /*?replytocom=
Disallow: /cart/
Disallow: /checkout/
Disallow: /my-account/
Disallow: /*/feed/$
Disallow: /trackback/
Disallow: /cgi-bin/
Disallow: /tmp/
Disallow: /internal/
Disallow: /*.pdf$
Disallow: /tag/*/page/
Disallow: /print/
Allow: /articles/
Crawl-delay: 0

User-agent: AhrefsBot
User-agent: SemrushBot
User-agent: MJ12bot
Disallow: /

User-agent: GPTBot
User-agent: CCBot
Disallow: /

User-agent: Googlebot-Image
Allow: /uploads/
Disallow: /uploads/private/

User-agent: bingbot
Crawl-delay: 5
Disallow: /search

Sitemap: http://127.0.0.1/sitemap.xml
Sitemap: http://127.0.0.1/news.xml
`

// target is the path and query of a page.
func target(size, variant int) string {
	return fmt.Sprintf("/articles/2026/a-page-of-some-length-%d.html?id=%d", size, variant)
}

// pageBody is what a page of a size is made of.
func pageBody(size int) []byte {
	const line = "<p>Some words of an article, and then some more of them.</p>\n"
	return []byte(strings.Repeat(line, size/len(line)+1)[:size])
}

// pages are whole answers by target.
func pages() map[string][]byte {
	all := map[string][]byte{"/robots.txt": answer("text/plain; charset=utf-8", []byte(Robots))}
	for _, size := range []int{Small, Mid, Large} {
		whole := answer("text/html; charset=utf-8", pageBody(size))
		for v := range variants {
			all[target(size, v)] = whole
		}
	}
	return all
}

// answer is one as origins give it. It may not be kept: a cache has no part in this.
func answer(contentType string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 03 Nov 2026 08:49:37 GMT\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\nVary: Accept-Encoding\r\nX-Frame-Options: SAMEORIGIN\r\n\r\n", contentType, len(body))
	b.Write(body)
	return b.Bytes()
}
