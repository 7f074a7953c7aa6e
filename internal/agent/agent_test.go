package agent

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heed/policy"
)

func list(s ...string) []string { return s }

var none []string

// TestTokens is the meaning of a User-Agent in rows: what clients send as it
// was measured or as their makers document it, then the shapes that the RFC
// allows, then what it does not.
func TestTokens(t *testing.T) {
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36"
	for _, tt := range []struct {
		reason     string
		field      string
		main, also []string
	}{
		// Client libraries and tools are who asks.
		{"the usual script", "python-requests/2.32.3", list("python-requests"), none},
		{"a comment with a URL only", "Scrapy/2.12.0 (+https://scrapy.org)", list("Scrapy"), none},
		{"a library, its binding, its wrapper", "libcurl/8.14.1 r-curl/6.2.1 httr/1.4.7", list("libcurl"), list("r-curl", "httr")},
		{"language, then library", "Python/3.13 aiohttp/3.11.16", list("Python"), list("aiohttp")},
		{"curl", "curl/8.14.1", list("curl"), none},
		{"wget", "Wget/1.25.0", list("Wget"), none},
		{"wget names its platform", "Wget/1.13.4 (linux-gnu)", list("Wget"), none},
		{"wget2", "Wget/2.2.0", list("Wget"), none},
		{"urllib", "Python-urllib/3.13", list("Python-urllib"), none},
		{"httpx", "python-httpx/0.28.1", list("python-httpx"), none},
		{"okhttp", "okhttp/4.12.0", list("okhttp"), none},
		{"Java URLConnection", "Java/17.0.15", list("Java"), none},
		{"Java HttpClient", "Java-http-client/17.0.15", list("Java-http-client"), none},
		{"Apache HttpClient", "Apache-HttpClient/4.5.14 (Java/17.0.15)", list("Apache-HttpClient"), list("Java")},
		{"LWP", "libwww-perl/6.78", list("libwww-perl"), none},
		{"Go", "Go-http-client/1.1", list("Go-http-client"), none},
		{"Node's fetch has no version", "node", list("node"), none},
		{"Ruby has none either", "Ruby", list("Ruby"), none},
		{"R in prose", "R (4.5.0 x86_64-pc-linux-gnu x86_64 linux-gnu)", list("R"), none},
		{"an iOS app, its library, its kernel", "ExampleApp/12 CFNetwork/3826.500.131 Darwin/24.5.0", list("ExampleApp"), list("CFNetwork")},
		{"Dart's comment is a library's name with a colon", "Dart/3.8 (dart:io)", list("Dart"), none},

		// Crawlers.
		{"the shape that most crawlers have", "Mozilla/5.0 (compatible; ExampleBot/0.1; +https://example.com/bot.html)", list("ExampleBot"), none},
		{"Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", list("Googlebot"), none},
		{
			"Googlebot smartphone: device and browser first",
			"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
			list("Googlebot"), none,
		},
		{"Googlebot-Image", "Googlebot-Image/1.0", list("Googlebot-Image"), none},
		{
			"bingbot, inside the engine's comment",
			"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36",
			list("bingbot"), none,
		},
		{"GPTBot, without a browser", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)", list("GPTBot"), none},
		{
			"Applebot, at the end",
			"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
			list("Applebot"), none,
		},
		{"a product of its own", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", list("facebookexternalhit"), none},
		{"YandexBot", "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", list("YandexBot"), none},
		{
			"Amazonbot",
			"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot) Chrome/119.0.6045.214 Safari/537.36",
			list("Amazonbot"), none,
		},
		{"an e-mail address is no name", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)", list("ClaudeBot"), none},
		{"CCBot", "CCBot/2.0 (https://commoncrawl.org/faq/)", list("CCBot"), none},
		{"digits count", "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)", list("MJ12bot"), none},
		{"a bare name and a bare address", "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)", list("Bytespider"), none},
		{"no blanks", "Mozilla/5.0 (compatible;PetalBot;+https://webmaster.petalsearch.com/site/petalbot)", list("PetalBot"), none},
		{"commas between parts", "Mozilla/5.0 (compatible; DotBot/1.2, +https://opensiteexplorer.org/dotbot)", list("DotBot"), none},
		{"prose about another crawler", "TelegramBot (like TwitterBot)", list("TelegramBot"), none},
		{"a semicolon after the product", "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)", list("DuckDuckBot"), none},
		{"a tilde in the version", "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)", list("SemrushBot"), none},
		{"a name cut at its plus", "Baiduspider+(+http://www.baidu.com/search/spider.htm)", list("Baiduspider"), none},
		{"words of a name are products", "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)", list("Sogou"), list("web", "spider")},
		{"a name and its library", "Mozilla/5.0 (compatible; ExampleBot/1.0) python-requests/2.32.3", list("ExampleBot"), list("python-requests")},
		{"headless Chromium is a tool, not a browser", strings.Replace(chrome, "Chrome/", "HeadlessChrome/", 1), list("HeadlessChrome"), none},

		// Browsers have no name of their own.
		{"Chrome on Linux", chrome, none, none},
		{"Chrome on Android, device K", "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Mobile Safari/537.36", none, none},
		{"an old Android browser, language and device", "Mozilla/5.0 (Linux; U; Android 4.0.3; en-us; GT-P5100) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Safari/534.30", none, none},
		{"a WebView", "Mozilla/5.0 (Linux; Android 14; SM-S918B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/139.0.0.0 Mobile Safari/537.36", none, none},
		{"Firefox", "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:141.0) Gecko/20100101 Firefox/141.0", none, none},
		{"Firefox on Android", "Mozilla/5.0 (Android 15; Mobile; rv:141.0) Gecko/141.0 Firefox/141.0", none, none},
		{"Safari on macOS", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15", none, none},
		{"Safari on iOS", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1", none, none},
		{"Edge", chrome + " Edg/139.0.0.0", none, none},
		{"Opera", chrome + " OPR/123.0.0.0", none, none},
		{"Internet Explorer", "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko", none, none},

		// A generic name that is all there is.
		{"a lone Mozilla", "Mozilla/5.0", list("Mozilla"), none},
		{"a lone Chrome", "Chrome", list("Chrome"), none},
		{"two of them are a browser again", "Mozilla/5.0 Chrome/139", none, none},
		{"with a comment too", "Mozilla/5.0 (compatible)", none, none},

		// The names of catalogue D.
		{"a favoured name in a comment gains nothing", "evil (goodbot)", list("evil"), list("goodbot")},
		{"a longer name is another", "goodbot-evil", list("goodbot-evil"), none},
		{"a name within a name does not count", "notgoodbot", list("notgoodbot"), none},
		{"case is kept; policy folds it", "GOODBOT/2", list("GOODBOT"), none},

		// Shapes.
		{"nested comments", "Mozilla/5.0 (a (ExampleBot/1.0 (inner)) b)", list("a"), list("ExampleBot", "inner", "b")},
		{"a quoted parenthesis does not end a comment", `X/1 (one\) two/2; Y)`, list("X"), list("two", "Y")},
		{"a quoted backslash does not quote the parenthesis", `X/1 (one\\) two/2`, list("X"), list("one", "two")},
		{"a comment that never ends", "X/1 (compatible; Y/2", list("X"), list("Y")},
		{"a comment that ends with a backslash", `X/1 (Y\`, list("X"), list("Y")},
		{"an end without a start", "X/1) Y/2", list("X"), list("Y")},
		{"an empty comment", "X/1 () Y/2", list("X"), list("Y")},
		{"of several words only those with a version are names", "Mozilla/5.0 (compatible; see the ExampleBot/1.0 page)", list("ExampleBot"), none},
		{"hosts and paths in comments are no names", "X/1 (example.com; www.example.com/bot; http://a.example/b; mailto:a@b; a.b/1)", list("X"), none},
		{"nor outside", "X/1 https://a.example/b +http://c.example www.d.example e@f.example", list("X"), none},
		{"semicolons instead of a comment", "Mozilla/5.0;ExampleBot/1.0;+https://a.example", list("ExampleBot"), none},
		{"tabs", "X/1\tY/2\t(Z)", list("X"), list("Y", "Z")},
		{"a name twice", "X/1 x/2 (X; y) Y/3", list("X"), list("y")},
		{"a dot ends a token", "archive.org_bot/1.0", list("archive"), none},
		{"a device model is no name, what follows is", "Mozilla/5.0 (Linux; Android 9; SM-G960F; ExampleBot)", list("ExampleBot"), none},
		{"the next comment starts anew", "Mozilla/5.0 (Linux; Android 9) (ExampleBot)", list("ExampleBot"), none},

		// Nothing, and rubbish.
		{"empty", "", none, none},
		{"blank", " \t ", none, none},
		{"a star is everyone", "*", none, none},
		{"a star with a version", "*/1.0", none, none},
		{"bare numbers", "1.0 2 (3; 4)", none, none},
		{"a number with a version is a name: 008 is a crawler of 80legs", "Mozilla/5.0 (compatible; 008/0.83; http://www.80legs.example/webcrawler.html) Gecko/2008032620", list("008"), none},
		{"a number by itself is what a client was told to call itself", "008", list("008"), none},
		{"punctuation", "-_-/1 __ ;;,,()", none, none},
		{"NUL is no token octet", "\x00\x00", none, none},
		{"a name is cut at NUL", "Example\x00Bot/1", list("Example"), none},
		{"nor is anything beyond ASCII", "Бот/1.0 ボット", none, none},
		{"a name is cut there too", "Exämple/1.0", list("Ex"), none},
		{"line ends that got through", "X/1\r\nDisallow:", list("X"), none},
	} {
		var fields []string
		if tt.field != "" {
			fields = []string{tt.field}
		}
		t.Run(tt.reason, func(t *testing.T) { check(t, fields, tt.main, tt.also) })
	}
}

func check(t *testing.T, fields, main, also []string) {
	t.Helper()
	got := Tokens(fields)
	if !slices.Equal(got.Main, main) || !slices.Equal(got.Also, also) {
		t.Errorf("Tokens(%.200q)\nhave Main %q, Also %q\nwant Main %q, Also %q", fields, got.Main, got.Also, main, also)
	}
}

func TestTokensOfSeveralFields(t *testing.T) {
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0"
	for _, tt := range []struct {
		reason     string
		fields     []string
		main, also []string
	}{
		{"no field", nil, none, none},
		{"one empty field", list(""), none, none},
		{"each has its main name", list("goodbot/1", "evilbot/2"), list("goodbot", "evilbot"), none},
		{"the same name twice", list("goodbot/1", "GoodBot/2"), list("goodbot"), none},
		{"one of two has no name: everyone's rules count as well", list("goodbot/1", firefox), list("goodbot", "*"), none},
		{"in either order", list(firefox, "goodbot/1"), list("goodbot", "*"), none},
		{"an empty field has no name", list("goodbot/1", ""), list("goodbot", "*"), none},
		{"nor has a star", list("*", "goodbot/1"), list("goodbot", "*"), none},
		{"none has a name: everyone's rules, no need to say so", list(firefox, "", "*"), none, none},
		{"a further name that is another field's main one", list("a b c", "b"), list("a", "b"), list("c")},
		{"a main name that comes again as a further one", list("a", "b a"), list("a", "b"), none},
		{"a lone generic name beside another field", list("goodbot", "Mozilla/5.0"), list("goodbot", "Mozilla"), none},
	} {
		t.Run(tt.reason, func(t *testing.T) { check(t, tt.fields, tt.main, tt.also) })
	}
}

func TestTooMuchCanOnlyRestrict(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("bot%02d", i))
	}
	long := strings.Repeat("a", maxName+1)
	for _, tt := range []struct {
		reason     string
		fields     []string
		main, also []string
	}{
		{"32 names and no more", list(strings.Join(many[:32], " ")), many[:1], many[1:32]},
		{"the 33rd", list(strings.Join(many, " ")), list("bot00", "*"), many[1:32]},
		{"33 fields", many, append(slices.Clone(many[:32]), "*"), none},
		{"the longest name", list(long[1:] + "/1.0"), list(long[1:]), none},
		{"a name too long to be one is no name", list(long), none, none},
		{"and does not make the next one the main one alone", list(long + " goodbot"), none, list("goodbot")},
		{"nor hide behind one", list("goodbot " + long), list("goodbot", "*"), none},
		{"64 KiB are read", list("goodbot" + strings.Repeat(" ", maxOctets-10) + "bot"), list("goodbot"), list("bot")},
		{"what is beyond is not, nor the name that is cut there", list("goodbot" + strings.Repeat(" ", maxOctets-10) + "evilbot"), list("goodbot", "*"), none},
		{"in all fields together", list(strings.Repeat(" ", maxOctets-7), "goodbot", "evilbot"), list("goodbot", "*"), none},
		{"64 KiB of one name", list(strings.Repeat("a", maxOctets)), none, none},
		{"64 KiB of open comments", list(strings.Repeat("(", maxOctets)), none, none},
		{"64 KiB of backslashes in a comment", list("(" + strings.Repeat(`\`, maxOctets-1)), none, none},
		{"64 KiB of octets beyond ASCII", list(strings.Repeat("\xff", maxOctets)), none, none},
		{"64 KiB of one generic name", list(strings.Repeat("Mozilla/5.0 ", maxOctets/12)), none, none},
		{"1 MiB", list(strings.Repeat("a", 1<<20)), none, none},
	} {
		t.Run(tt.reason, func(t *testing.T) { check(t, tt.fields, tt.main, tt.also) })
	}
}

// TestRubbishTakesLinearTime gives the worst that was found: 64 KiB of words
// that are each compared with 31 names. Linear is a few milliseconds;
// quadratic would be minutes.
// TestWhatIsRememberedIsWhatIsRead: more fields than there are places, from
// several goroutines, each more than once.
func TestWhatIsRememberedIsWhatIsRead(t *testing.T) {
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 8 * places {
				field := fmt.Sprintf("Mozilla/5.0 (compatible; Bot%d/1.0; Other%d)", (g+i)/2%(2*places), i%2)
				got, want := Tokens(list(field)), read(list(field))
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%q: %v, want %v", field, got, want)
					return
				}
				_ = append(got.Main, "changed") // must not be seen by others
			}
		})
	}
	all.Wait()
}

func TestAFieldThatIsRememberedCostsNothing(t *testing.T) {
	fields := list("Mozilla/5.0 (compatible; ExampleBot/0.1; +https://a.example/bot)")
	Tokens(fields)
	if n := testing.AllocsPerRun(100, func() { Tokens(fields) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestRubbishTakesLinearTime(t *testing.T) {
	var names strings.Builder
	for i := range 31 {
		fmt.Fprintf(&names, "b%02d ", i)
	}
	start := time.Now()
	for _, rubbish := range []string{
		names.String() + strings.Repeat("b30 ", (maxOctets-names.Len())/4),
		names.String() + "(" + strings.Repeat("b30;", (maxOctets-names.Len())/4-1),
		"(" + strings.Repeat("Mozilla/1 ", maxOctets/10),
		strings.Repeat("(a/1", maxOctets/4),
	} {
		Tokens([]string{rubbish})
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestGenericNamesAreWellFormed(t *testing.T) {
	for name, what := range generics {
		if name != strings.ToLower(name) || cut(name) != name {
			t.Errorf("%q cannot be met: not a lower-case product token", name)
		}
		if len(name) > longestGeneric {
			t.Errorf("%q is longer than longestGeneric", name)
		}
		if what == "" {
			t.Errorf("%q does not say what it is", name)
		}
		if !generic(name) || !generic(strings.ToUpper(name)) {
			t.Errorf("%q is not found, in lower or upper case", name)
		}
	}
}

func TestClientLibrariesAreNotGeneric(t *testing.T) {
	for _, name := range []string{
		"curl", "libcurl", "Wget", "python-requests", "Python-urllib", "Python", "aiohttp", "python-httpx", "Scrapy",
		"Go-http-client", "okhttp", "Java", "Java-http-client", "Apache-HttpClient", "libwww-perl", "Ruby", "node", "axios",
		"undici", "HeadlessChrome", "PhantomJS", "Dalvik", "CFNetwork", "httr", "DuckDuckBot", "YandexBot", "Amazonbot",
	} {
		if generic(name) {
			t.Errorf("%s is generic: it is who asks", name)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"Mozilla/5.0 (compatible; ExampleBot/0.1; +https://example.com/bot.html)", "evil (goodbot)", "*", "Mozilla/5.0",
		`X/1 (a\) (b; c/1 d) e) f`, "(Linux; Android 10; K)", "Бот\x00bot", "a b c d", "((((", "x/(y/)z",
	} {
		f.Add(s, "")
		f.Add("goodbot/1", s)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		got := Tokens([]string{one, two})
		wellFormed(t, got)
		if len(got.Main) > 0 && len(Tokens([]string{one}).Main) == 0 && !slices.Contains(got.Main, everyone) {
			t.Errorf("%q has no name, and beside %q nobody asks for everyone: %q", one, two, got.Main)
		}
		// A name may be repeated with no change of what it means.
		for _, token := range got.Main {
			if token == everyone {
				continue
			}
			again := Tokens([]string{token})
			if !slices.Equal(again.Main, []string{token}) || len(again.Also) != 0 {
				t.Errorf("%q of %q by itself is %q", token, []string{one, two}, again)
			}
		}
	})
}

// wellFormed fails unless tokens are what policy may rely on: product tokens,
// each once, few, and "*" in Main alone and never by itself.
func wellFormed(t *testing.T, tokens policy.Tokens) {
	t.Helper()
	if n := len(tokens.Main) + len(tokens.Also); n > maxNames+1 {
		t.Errorf("%d tokens, want at most %d", n, maxNames+1)
	}
	seen := map[string]bool{}
	for i, token := range slices.Concat(tokens.Main, tokens.Also) {
		if seen[strings.ToLower(token)] {
			t.Errorf("%q is there twice", token)
		}
		seen[strings.ToLower(token)] = true
		if token == everyone && i > 0 && i == len(tokens.Main)-1 {
			continue
		}
		if token == "" || len(token) > maxName || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("%q is no product token", token)
		}
		if strings.Trim(token, "-_") == "" {
			t.Errorf("%q is dashes alone", token)
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	for _, bm := range []struct{ name, field string }{
		{"requests", "python-requests/2.32.3"},
		{"bingbot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36"},
		{"chrome", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36"},
		{"64KiB", strings.Repeat("a/1 (b; c) ", maxOctets/11)},
	} {
		fields := []string{bm.field}
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Tokens(fields)
			}
		})
	}
}
