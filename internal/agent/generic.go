package agent

// generics are the names in User-Agent fields that say what a client looks
// like or runs on, not who it is: lower-case, each with what it is. A name
// that stands here is never a product token of a client, except where it is
// all that a field says.
//
// The list is of browsers, their engines and their platforms. Client
// libraries and tools (curl, python-requests, Go-http-client, Scrapy,
// HeadlessChrome) do not belong here: where nobody put a name of their own,
// they are who asks, and sites have rules for them.
var generics = map[string]string{
	// What browsers say to be taken for each other.
	"mozilla":    "the first product of every browser since 1994",
	"compatible": "said by whatever is not that browser",
	"like":       "as in like Gecko",
	"version":    "the browser's version, before Safari or Opera",
	"mobile":     "a telephone's browser",
	"tablet":     "a tablet's browser",
	"desktop":    "not a telephone's",
	"touch":      "a touch screen",
	"rv":         "the version of Gecko",
	"wv":         "an Android WebView",
	"u":          "strong cryptography, from the days of export rules",
	"i":          "weak cryptography",
	"n":          "no cryptography",

	// Engines.
	"applewebkit": "the engine of Safari and, by name, of Chrome",
	"webkit":      "the same",
	"khtml":       "the engine WebKit comes from",
	"gecko":       "the engine of Firefox, and what the others are like",
	"goanna":      "the engine of Pale Moon",
	"presto":      "the engine of old Opera",
	"trident":     "the engine of Internet Explorer",
	"blink":       "the engine of Chrome",

	// Browsers.
	"chrome":         "a browser",
	"chromium":       "a browser",
	"crios":          "Chrome on iOS",
	"gsa":            "the Google app on iOS",
	"safari":         "a browser, and what Chrome is like",
	"firefox":        "a browser",
	"fxios":          "Firefox on iOS",
	"focus":          "Firefox Focus",
	"klar":           "Firefox Focus in German",
	"seamonkey":      "a browser",
	"iceweasel":      "Firefox in old Debian",
	"palemoon":       "a browser",
	"waterfox":       "a browser",
	"librewolf":      "a browser",
	"edge":           "a browser",
	"edg":            "Edge on Chromium",
	"edga":           "Edge on Android",
	"edgios":         "Edge on iOS",
	"msie":           "Internet Explorer",
	"iemobile":       "Internet Explorer on Windows Phone",
	"opera":          "a browser",
	"opr":            "Opera on Chromium",
	"opios":          "Opera on iOS",
	"opt":            "Opera Touch",
	"opx":            "Opera GX",
	"vivaldi":        "a browser",
	"brave":          "a browser",
	"ddg":            "the browser of DuckDuckGo; its crawler is DuckDuckBot",
	"samsungbrowser": "a browser",
	"miuibrowser":    "a browser",
	"huaweibrowser":  "a browser",
	"vivobrowser":    "a browser",
	"heytapbrowser":  "a browser",
	"ucbrowser":      "a browser",
	"qqbrowser":      "a browser",
	"mqqbrowser":     "QQBrowser on telephones",
	"yabrowser":      "the browser of Yandex; its crawler is YandexBot",
	"yowser":         "the same",
	"whale":          "a browser",
	"maxthon":        "a browser",
	"silk":           "the browser of Amazon; its crawler is Amazonbot",
	"puffin":         "a browser",
	"epiphany":       "a browser",
	"konqueror":      "a browser",
	"falkon":         "a browser",

	// Systems and what they run on.
	"windows":     "a system",
	"win32":       "Windows",
	"win64":       "Windows",
	"wow64":       "a 32-bit browser on Windows",
	"nt":          "Windows",
	"macintosh":   "a system",
	"mac":         "macOS",
	"mac_powerpc": "macOS",
	"macos":       "a system",
	"darwin":      "the kernel of macOS and iOS",
	"intel":       "a processor",
	"ppc":         "a processor",
	"cpu":         "as in CPU iPhone OS",
	"iphone":      "a device",
	"ipad":        "a device",
	"ipod":        "a device",
	"ios":         "a system",
	"ipados":      "a system",
	"x11":         "a window system",
	"wayland":     "a window system",
	"linux":       "a system",
	"linux-gnu":   "a system, in Wget's comment",
	"gnu":         "a system",
	"ubuntu":      "a system",
	"debian":      "a system",
	"fedora":      "a system",
	"android":     "a system",
	"build":       "the build of Android on a device",
	"cros":        "a system",
	"freebsd":     "a system",
	"openbsd":     "a system",
	"netbsd":      "a system",
	"sunos":       "a system",
	"tizen":       "a system",
	"webos":       "a system",
	"web0s":       "webOS",
	"kaios":       "a system",
	"harmonyos":   "a system",
	"openharmony": "a system",
	"arkweb":      "the engine of HarmonyOS",
	"playstation": "a device",
	"xbox":        "a device",
	"nintendo":    "a device",
	"smart-tv":    "a device",
	"smarttv":     "a device",
	"x64":         "a processor",
	"x86":         "a processor",
	"x86_64":      "a processor",
	"i386":        "a processor",
	"i586":        "a processor",
	"i686":        "a processor",
	"amd64":       "a processor",
	"arm":         "a processor",
	"arm64":       "a processor",
	"arm_64":      "a processor",
	"aarch64":     "a processor",
	"armv7l":      "a processor",
	"armv8l":      "a processor",
}

// longestGeneric bounds what generic looks up.
const longestGeneric = 16

// generic reports whether a token is one of generics, in whatever case.
func generic(token string) bool {
	if len(token) > longestGeneric {
		return false
	}
	var buffer [longestGeneric]byte
	lower := append(buffer[:0], token...)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + ('a' - 'A')
		}
	}
	_, ok := generics[string(lower)]
	return ok
}
