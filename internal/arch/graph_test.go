package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// row is what the code of a package may import besides the standard library:
// packages of heed, by their folders, and modules of others.
type row struct {
	heed    []string
	modules []string
}

// graph is the import graph. The row of a package lists what it imports, no
// more: an entry that nothing uses is a fault too. Test files are bound by
// bans and doors alone.
var graph = map[string]row{
	".": {heed: []string{"internal/cli"}},

	"policy":      {},
	"policy/lint": {heed: []string{"policy"}},
	"fetch": {
		heed:    []string{"policy", "internal/network", "internal/origin", "internal/retryafter"},
		modules: []string{"github.com/patrickmn/go-cache", "golang.org/x/text"},
	},
	"proxy": {
		heed: []string{"policy", "internal/agent", "internal/audit", "internal/dial", "internal/fieldline", "internal/origin", "internal/override", "internal/pace", "internal/quota", "internal/relay", "internal/retryafter", "internal/roundtrip", "internal/serving", "internal/stall"},
		modules: []string{
			"github.com/elazarl/goproxy",
			"github.com/dunglas/httpsfv",
			"github.com/elnormous/contenttype",
			"github.com/rs/xid",
			"github.com/rs/zerolog",
		},
	},

	"internal/admin": {heed: []string{"internal/origin", "internal/pace", "internal/quota", "internal/store"}},
	"internal/agent": {heed: []string{"policy", "internal/network", "internal/quota"}, modules: []string{"golang.org/x/crypto"}},
	"internal/app": {
		heed: []string{
			"fetch", "policy", "proxy",
			"internal/admin", "internal/agent", "internal/audit", "internal/ca", "internal/config",
			"internal/dial", "internal/logfile", "internal/metrics", "internal/origin", "internal/override", "internal/pace", "internal/quota", "internal/replay", "internal/store",
		},
		modules: []string{"github.com/rs/zerolog", "golang.org/x/sync"},
	},
	"internal/arch":  {},
	"internal/audit": {heed: []string{"policy", "internal/logfile"}, modules: []string{"github.com/rs/zerolog"}},
	"internal/ca": {
		heed:    []string{"internal/origin", "internal/wholefile"},
		modules: []string{"github.com/hashicorp/golang-lru/v2", "golang.org/x/sync"},
	},
	"internal/cli": {
		heed: []string{
			"policy", "policy/lint",
			"internal/admin", "internal/agent", "internal/app", "internal/audit", "internal/ca", "internal/config", "internal/limits", "internal/lines", "internal/logfile", "internal/origin",
			"internal/override", "internal/pace", "internal/replay", "internal/store",
		},
		modules: []string{
			"github.com/alecthomas/kong",
			"github.com/adrg/xdg",
			"github.com/owenrumney/go-sarif/v3",
			"github.com/rs/zerolog",
			"golang.org/x/sys",
			"golang.org/x/term",
			"golang.org/x/text",
			"software.sslmate.com/src/go-pkcs12",
		},
	},
	"internal/config": {
		heed:    []string{"policy", "internal/agent", "internal/dial", "internal/origin"},
		modules: []string{"github.com/goccy/go-yaml"},
	},
	"internal/dial": {
		heed:    []string{"internal/origin", "internal/roundtrip"},
		modules: []string{"code.dny.dev/ssrf", "github.com/dunglas/httpsfv", "github.com/hashicorp/golang-lru/v2", "golang.org/x/net", "golang.org/x/sync"},
	},
	"internal/faults":    {heed: []string{"policy"}, modules: []string{"golang.org/x/net"}},
	"internal/fieldline": {},
	"internal/lines":     {},
	"internal/limits":    {modules: []string{"golang.org/x/sys"}},
	"internal/logfile":   {modules: []string{"github.com/rs/zerolog"}},
	"internal/metrics": {
		heed:    []string{"fetch", "internal/audit", "internal/origin"},
		modules: []string{"github.com/prometheus/client_golang"},
	},
	"internal/origin":   {modules: []string{"golang.org/x/net"}},
	"internal/override": {heed: []string{"policy", "internal/origin"}},
	"internal/network":  {},
	"internal/pace":     {heed: []string{"internal/network"}, modules: []string{"github.com/puzpuzpuz/xsync/v4"}},
	"internal/quota":    {heed: []string{"internal/wholefile"}, modules: []string{"github.com/rs/zerolog"}},
	"internal/relay":    {modules: []string{"golang.org/x/sys"}},
	"internal/replay": {
		heed:    []string{"policy", "internal/agent", "internal/lines", "internal/origin", "internal/override"},
		modules: []string{"github.com/hashicorp/golang-lru/v2", "github.com/valyala/fastjson"},
	},
	"internal/retryafter": {},
	"internal/roundtrip":  {heed: []string{"internal/fieldline", "internal/stall"}, modules: []string{"golang.org/x/net"}},
	"internal/serving":    {heed: []string{"internal/fieldline"}, modules: []string{"golang.org/x/net", "golang.org/x/sys"}},
	"internal/stall":      {},
	"internal/store": {
		heed:    []string{"fetch", "policy", "internal/origin", "internal/wholefile"},
		modules: []string{"go.etcd.io/bbolt", "github.com/klauspost/compress", "github.com/rs/zerolog", "golang.org/x/sync"},
	},
	"internal/store/storetest": {heed: []string{"fetch", "policy", "internal/origin"}},
	"internal/testnet":         {},
	"internal/wholefile":       {},

	"e2e":                  {},
	"e2e/bypass":           {},
	"e2e/clients/goclient": {},
	"e2e/process":          {},
	"e2e/root":             {},
}

// door is the one package that knows a module, so that the module can be
// swapped in one folder.
type door struct{ module, folder, why string }

var doors = []door{
	{"github.com/elazarl/goproxy", "proxy", "goproxy is known to proxy alone, so that the engine can be changed there"},
	{"github.com/patrickmn/go-cache", "fetch", "go-cache is known to fetch alone: it is the memory tier"},
	{"go.etcd.io/bbolt", "internal/store", "bbolt is known to internal/store alone: it is the tier in a file"},
	{"github.com/goccy/go-yaml", "internal/config", "YAML is read by internal/config alone, which reads it strictly"},
	{"golang.org/x/crypto", "internal/agent", "passwords are looked at by internal/agent alone"},
	{"github.com/prometheus/client_golang", "internal/metrics", "every metric stands in internal/metrics; others are given functions to call"},
	{"github.com/alecthomas/kong", "internal/cli", "the command line is internal/cli's alone"},
	{"github.com/valyala/fastjson", "internal/replay", "fastjson reads logs, which heed wrote, in internal/replay alone; what others send goes through encoding/json"},
	{"github.com/owenrumney/go-sarif", "internal/cli", "SARIF is a form in which heed lint prints; policy/lint knows no forms"},
}

// ban is an import that tests may not make either. A from or to that ends with
// a slash stands for every package below it.
type ban struct{ from, to, why string }

var bans = []ban{
	{"proxy", "heed/fetch", "proxy → policy ← fetch: the proxy asks, fetch supplies, and internal/app joins them"},
	{"fetch", "heed/proxy", "proxy → policy ← fetch: fetch knows nothing of exchanges"},
	{"policy", "heed/", "policy is the core: others import it, it imports nothing of heed"},
	{"policy", "net/", "policy is pure: it opens no connection"},
	{"policy", "syscall", "policy is pure: it asks the system nothing"},
	{"policy", "log/", "policy is pure: it returns what it has to say"},
	{"policy", "math/rand/", "policy is pure: the same question has the same answer"},
	{"policy", "crypto/rand", "policy is pure: the same question has the same answer"},
}

// codeBans are bans for the code of a package, not for its tests.
var codeBans = []ban{
	{"policy", "os/", "policy is pure: it opens no file"},
	{"policy", "io/fs", "policy is pure: it opens no file"},
	{"policy", "path/filepath", "policy is pure: it opens no file"},
	{"policy", "embed", "policy is pure: it opens no file"},
}

func TestImportsFollowTheTable(t *testing.T) {
	all := sources(t)
	var faults []string
	for _, s := range all {
		faults = append(faults, checkImports(s)...)
	}
	report(t, append(faults, checkTable(all)...))
}

// checkImports returns what is wrong with the imports of one file.
func checkImports(s source) (faults []string) {
	for to, spec := range s.imports() {
		if why := refuse(s, to); why != "" {
			faults = append(faults, fmt.Sprintf("%s: %s imports %s: %s", s.at(spec), s.folder, to, why))
		}
	}
	for _, spec := range s.syntax.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			faults = append(faults, s.at(spec)+": a dot import hides from readers, and from these checks, where a name comes from")
		}
	}
	return faults
}

// refuse says why a file may not import a package, "" if it may.
func refuse(s source, to string) string {
	for _, d := range doors {
		if within(to, d.module) && s.folder != d.folder {
			return d.why
		}
	}
	if to == module+"/"+s.folder {
		return "" // its own external tests
	}
	for _, b := range bans {
		if s.folder == b.from && banned(to, b.to) {
			return b.why
		}
	}
	if s.test {
		return ""
	}
	for _, b := range codeBans {
		if s.folder == b.from && banned(to, b.to) {
			return b.why
		}
	}
	if isStandard(to) || entryOf(s.folder, to) != "" {
		return ""
	}
	if _, known := graph[s.folder]; !known {
		return "the package has no row in internal/arch/graph_test.go"
	}
	return "its row in internal/arch/graph_test.go does not list it"
}

// banned reports whether an import is what a ban names.
func banned(to, what string) bool {
	if tree, below := strings.CutSuffix(what, "/"); below {
		return within(to, tree)
	}
	return to == what
}

// entryOf returns the entry of a folder's row that allows an import, "" if
// none does.
func entryOf(folder, to string) string {
	allowed := graph[folder]
	if heed, ours := strings.CutPrefix(to, module+"/"); ours {
		if slices.Contains(allowed.heed, heed) {
			return heed
		}
		return ""
	}
	for _, m := range allowed.modules {
		if within(to, m) {
			return m
		}
	}
	return ""
}

// within reports whether a path is a tree's top or below it.
func within(p, tree string) bool { return p == tree || strings.HasPrefix(p, tree+"/") }

// isStandard reports whether a path is the standard library's: the first part
// of every other has a dot, but for heed's own.
func isStandard(to string) bool {
	first, _, _ := strings.Cut(to, "/")
	return first != module && !strings.Contains(first, ".")
}

// checkTable returns the rows and entries of the table that nothing uses, and
// the packages that have no row.
func checkTable(all []source) (faults []string) {
	packages, used := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		packages[s.folder] = true
		if s.test {
			continue
		}
		for to := range s.imports() {
			used[s.folder+" "+entryOf(s.folder, to)] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if _, known := graph[folder]; !known {
			faults = append(faults, fmt.Sprintf("package %s has no row in internal/arch/graph_test.go: say what it may import", folder))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(graph)) {
		if !packages[folder] {
			faults = append(faults, fmt.Sprintf("the row of %s in internal/arch/graph_test.go is of a package that does not exist", folder))
			continue
		}
		for _, entry := range slices.Concat(graph[folder].heed, graph[folder].modules) {
			if !used[folder+" "+entry] {
				faults = append(faults, fmt.Sprintf("the row of %s in internal/arch/graph_test.go allows %s, which nothing in it imports", folder, entry))
			}
		}
	}
	return faults
}
