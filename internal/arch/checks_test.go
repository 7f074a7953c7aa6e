package arch

import (
	"slices"
	"strings"
	"testing"
)

// A check that never fails would hide everything it is there to show. So each
// is given sources that were made up to break it, and ones that come close and
// do not.

// made parses a made-up file.
func made(t *testing.T, file, text string) source {
	t.Helper()
	s, err := parse(file, []byte(text))
	if err != nil {
		t.Fatalf("the made-up source does not parse: %v", err)
	}
	return s
}

func TestTheChecksSeeMadeUpFaults(t *testing.T) {
	const manual = "// Package x is made up.\npackage x\n"
	for _, c := range []struct {
		name  string
		check func(source) []string
		file  string
		text  string
		want  string // in the one fault; "" for none
	}{
		{"proxy and fetch", checkImports, "proxy/x.go", `package proxy; import "heed/fetch"`, "proxy/x.go:1: proxy imports heed/fetch: proxy → policy ← fetch"},
		{"proxy and fetch, in a test", checkImports, "proxy/x_test.go", `package proxy; import "heed/fetch"`, "proxy → policy ← fetch"},
		{"fetch and proxy", checkImports, "fetch/x.go", `package fetch; import "heed/proxy"`, "fetch knows nothing of exchanges"},
		{"policy and a package of heed", checkImports, "policy/x.go", `package policy; import "heed/internal/origin"`, "it imports nothing of heed"},
		{"policy and a package of heed, in a test", checkImports, "policy/x_test.go", `package policy; import "heed/internal/agent"`, "it imports nothing of heed"},
		{"policy's external tests import policy", checkImports, "policy/x_test.go", `package policy_test; import "heed/policy"`, ""},
		{"policy and the network", checkImports, "policy/x.go", `package policy; import "net/http"`, "it opens no connection"},
		{"policy and a file", checkImports, "policy/x.go", `package policy; import "os"`, "it opens no file"},
		{"policy's tests read files", checkImports, "policy/x_test.go", `package policy; import "os"`, ""},
		{"a name that begins like a ban", checkImports, "policy/x.go", `package policy; import "netting"`, ""},
		{"goproxy through another door", checkImports, "internal/app/x.go", `package app; import "github.com/elazarl/goproxy"`, "goproxy is known to proxy alone"},
		{"goproxy through another door, in a test", checkImports, "internal/app/x_test.go", `package app; import "github.com/elazarl/goproxy"`, "goproxy is known to proxy alone"},
		{"go-cache through another door", checkImports, "proxy/x.go", `package proxy; import "github.com/patrickmn/go-cache"`, "go-cache is known to fetch alone"},
		{"a package below a module with a door", checkImports, "internal/cli/x.go", `package cli; import "github.com/goccy/go-yaml/ast"`, "internal/config alone"},
		{"Prometheus through another door", checkImports, "proxy/x.go", `package proxy; import "github.com/prometheus/client_golang/prometheus"`, "every metric stands in internal/metrics"},
		{"kong through another door", checkImports, "main.go", `package main; import "github.com/alecthomas/kong"`, "internal/cli's alone"},
		{"a package that the row lacks", checkImports, "internal/origin/x.go", `package origin; import "heed/internal/dial"`, "its row in internal/arch/graph_test.go does not list it"},
		{"a module that the row lacks", checkImports, "internal/origin/x.go", `package origin; import "github.com/rs/zerolog"`, "its row in internal/arch/graph_test.go does not list it"},
		{"a module whose path begins like an allowed one", checkImports, "proxy/x.go", `package proxy; import "github.com/rs/zerologger"`, "does not list it"},
		{"a package without a row", checkImports, "internal/util/x.go", `package util; import "heed/policy"`, "has no row"},
		{"a dot import", checkImports, "proxy/x.go", `package proxy; import . "strings"`, "a dot import hides"},
		{"what the row has", checkImports, "proxy/x.go", `package proxy; import ("heed/policy"; "github.com/rs/zerolog"; "net/http")`, ""},

		{"os.Exit", checkNames, "internal/app/x.go", `package app; import "os"; func f() { os.Exit(1) }`, "internal/app/x.go:1: os.Exit: only main.go and internal/cli end the process"},
		{"os.Exit under another name", checkNames, "internal/app/x.go", `package app; import system "os"; var quit = system.Exit`, "end the process"},
		{"os.Exit in internal/cli", checkNames, "internal/cli/x.go", `package cli; import "os"; func f() { os.Exit(1) }`, ""},
		{"os.Exit in main.go", checkNames, "main.go", `package main; import "os"; func main() { os.Exit(1) }`, ""},
		{"os.Exit in a test", checkNames, "proxy/x_test.go", `package proxy; import "os"; func f() { os.Exit(1) }`, ""},
		{"os.Getenv", checkNames, "internal/ca/x.go", `package ca; import "os"; var roots = os.Getenv("SSL_CERT_FILE")`, "only internal/cli reads the environment"},
		{"a method of that name", checkNames, "internal/ca/x.go", `package ca; import "os"; var _ os.File; type e struct{}; func (e) Getenv() {}; func f(x e) { x.Getenv() }`, ""},
		{"log.Fatal", checkNames, "proxy/x.go", `package proxy; import "log"; func f() { log.Fatal() }`, "end the process"},
		{"time.Now in policy", checkNames, "policy/x.go", `package policy; import "time"; var now = time.Now`, "no clock is read"},
		{"time.Now in policy's tests", checkNames, "policy/x_test.go", `package policy; import "time"; var now = time.Now`, ""},
		{"time.Time in policy", checkNames, "policy/x.go", `package policy; import "time"; var at time.Time`, ""},
		{"goproxy's CA", checkNames, "proxy/x.go", `package proxy; import "github.com/elazarl/goproxy"; var c = goproxy.GoproxyCa`, "the key of goproxy's own CA is public"},
		{"goproxy's OkConnect", checkNames, "proxy/x.go", `package proxy; import g "github.com/elazarl/goproxy"; var c = g.OkConnect`, "is public"},
		{"goproxy's MitmConnect, in a test", checkNames, "proxy/x_test.go", `package proxy; import "github.com/elazarl/goproxy"; var c = goproxy.MitmConnect`, "is public"},
		{"goproxy's RejectConnect", checkNames, "proxy/x.go", `package proxy; import "github.com/elazarl/goproxy"; var c = goproxy.RejectConnect`, "is public"},
		{"goproxy's HTTPMitmConnect", checkNames, "proxy/x.go", `package proxy; import "github.com/elazarl/goproxy"; var c = goproxy.HTTPMitmConnect`, "is public"},
		{"goproxy's TLSConfigFromCA", checkNames, "proxy/x.go", `package proxy; import "github.com/elazarl/goproxy"; var c = goproxy.TLSConfigFromCA`, "predictable"},
		{"goproxy's interception loop", checkNames, "proxy/x.go", `package proxy; import "github.com/elazarl/goproxy"; var a = goproxy.ConnectMitm`, "no timeouts"},
		{"what heed uses of goproxy", checkNames, "proxy/x.go", `package proxy; import "github.com/elazarl/goproxy"; var a = goproxy.ConnectHijack`, ""},

		{"no package comment", one(checkComments), "x/x.go", "package x\n", "package x has no package comment"},
		{"a license is no manual", one(checkComments), "x/x.go", "// Copyright.\npackage x\n", "begins neither"},
		{"a package comment", one(checkComments), "x/x.go", manual, ""},
		{"a comment in a test is no manual", one(checkComments), "x/x_test.go", manual, "package x has no package comment"},
		{"a second file at the top", one(checkTop), "tools.go", "package main", "tools.go: only main.go stands at the top"},
		{"main.go", one(checkTop), "main.go", "package main", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, c.check(made(t, c.file, c.text)), c.want)
		})
	}
}

// one makes of a check of the whole tree one of a single file.
func one(check func([]source) []string) func(source) []string {
	return func(s source) []string { return check([]source{s}) }
}

func expect(t *testing.T, faults []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(faults) > 0:
		t.Errorf("found fault with what is right: %q", faults)
	case want != "" && len(faults) != 1:
		t.Errorf("found %d faults, not the one of %q: %q", len(faults), want, faults)
	case want != "" && !strings.Contains(faults[0], want):
		t.Errorf("got %q, want one that says %q", faults[0], want)
	}
}

func TestTwoPackageCommentsAreSeen(t *testing.T) {
	const manual = "// Package x is made up.\npackage x\n"
	expect(t, checkComments([]source{made(t, "x/a.go", manual), made(t, "x/b.go", manual)}), "package x has 2 package comments (x/a.go, x/b.go)")
}

func TestTheTableItselfIsChecked(t *testing.T) {
	faults := strings.Join(checkTable([]source{made(t, "internal/util/x.go", "package util")}), "\n")
	for _, want := range []string{
		"package internal/util has no row",
		"the row of proxy in internal/arch/graph_test.go is of a package that does not exist",
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("no fault says %q", want)
		}
	}
	unused := checkTable([]source{made(t, "internal/agent/x.go", "package agent")})
	if want := "the row of internal/agent in internal/arch/graph_test.go allows policy, which nothing in it imports"; !strings.Contains(strings.Join(unused, "\n"), want) {
		t.Errorf("no fault says %q", want)
	}
}

func TestReplaceIsSeenInEitherForm(t *testing.T) {
	for text, want := range map[string]string{
		"module heed\n\nreplace a.example/x => ../x\n":              "go.mod:3: replace",
		"module heed\n\nreplace (\n\ta.example/x => ../x\n)\n":      "go.mod:3: replace",
		"module heed\n\nrequire a.example/replace v1.0.0\n":         "",
		"module heed // we replace nothing\n\ngo 1.26\n":            "",
		"module heed\n\nrequire (\n\ta.example/replace v1.0.0\n)\n": "",
	} {
		expect(t, checkGoMod("go.mod", text), want)
	}
}

func TestOnlyAModuleWithinTheTreeMayStandOnIt(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"bench/go.mod", "module heed/bench\n\nreplace heed => ../\n", ""},
		{"a/b/go.mod", "module heed/b\n\nreplace heed => ../..\n", ""},
		{"go.mod", "module heed\n\nreplace heed => ../\n", "go.mod:3: replace"},
		{"go.mod", "module heed\n\nreplace heed => ./\n", "go.mod:3: replace"},
		{"bench/go.mod", "module heed/bench\n\nreplace heed => ../../\n", "bench/go.mod:3: replace"},
		{"bench/go.mod", "module heed/bench\n\nreplace heed => ../fork\n", "bench/go.mod:3: replace"},
		{"bench/go.mod", "module heed/bench\n\nreplace a.example/x => ../\n", "bench/go.mod:3: replace"},
	} {
		expect(t, checkGoMod(c.file, c.text), c.want)
	}
}

func TestDocumentsThatNameWhatIsNotThereAreSeen(t *testing.T) {
	known := declarations([]source{
		made(t, "policy/match.go", "package policy\n\ntype P struct{}\n\nfunc (p *P) Match() {}\n\nconst limit = 1\n"),
		made(t, "policy/match_test.go", "package policy\n\nimport \"testing\"\n\nfunc TestMatch(t *testing.T) {}\n"),
	})
	exists := func(file string) bool { return file == "README.md" || file == "policy/match.go" }
	for _, c := range []struct{ text, want string }{
		{"`TestMatch` and `policy/match.go:P.Match`, `policy/match.go:limit` in `policy/match.go`; [more](../README.md)", ""},
		{"`TestMatched`", "the test TestMatched, which is nowhere"},
		{"`policy/match.go:Match`", "declares no such thing"},
		{"`policy/none.go:Match`", "policy/none.go, which is no Go file of the tree"},
		{"`policy/testdata/none.gz`", "the file policy/testdata/none.gz, which does not exist"},
		{"[more](README.md)", "links to docs/README.md, which does not exist"},
		{"[elsewhere](https://a.example/x)", ""},
		{"```\n`TestNowhere`\n```\n", ""},
		{"a group for `ExampleBot` under `/private`", ""},
	} {
		faults := checkDocument("docs/x.md", c.text, known, exists)
		expect(t, faults, c.want)
	}
}

func TestRowsThatAreMissingOrTooManyAreSeen(t *testing.T) {
	const table = "| metric | unit |\n| --- | --- |\n| `heed_a_total` | 1 |\n| `heed_b_total` | 1 |\n\n| other | unit |\n| --- | --- |\n| `heed_c_total` | 1 |\n"
	expect(t, checkRows("x.md", table, "metric", []string{"heed_a_total", "heed_b_total"}), "")
	expect(t, checkRows("x.md", table, "metric", []string{"heed_a_total"}), "a row for the metric heed_b_total, which the code does not have")
	expect(t, checkRows("x.md", table, "metric", []string{"heed_a_total", "heed_b_total", "heed_c_total"}), "no row for the metric heed_c_total")
}

func TestARequirementWithoutATestIsSeen(t *testing.T) {
	const head = "| § | requirement | strength | where | tests |\n| --- | --- | --- | --- | --- |\n"
	rows, faults := checkRequirements(head + "| 2.5 | A limit. | MUST | `a.go` | `TestLimit` |\n| 2.5 | Another. | MUST | `TestNot` | none |\n")
	if rows != 2 {
		t.Errorf("counted %d rows, want 2", rows)
	}
	expect(t, faults, "a requirement names no test: | 2.5 | Another.")
}

func TestDeclarationsInTheCodeAreFound(t *testing.T) {
	for _, c := range []struct {
		name string
		find func(source) []string
		text string
		want string
	}{
		{"metrics", metricNames, `package metrics; var a = counter("x_total", "help"); var b = O{Name: "heed_y_seconds"}; var c = O{Name: "heed_" + name}; func f() { m.WithLabelValues("not_one") }`, "heed_x_total heed_y_seconds"},
		{"log fields", logFields, "package audit; func f() { l.name(`{\"id\":`).text(x).name(`,\"bytes_in\":`).number(n).word(`\"no\":1`) }", "bytes_in id"},
		{"reasons", reasons, `package proxy; var a = &kind{"disallowed", 403}; var b = &problem{"no", 1}; var c = &kind{name, 1}`, "disallowed"},
	} {
		names := c.find(made(t, "x/x.go", c.text))
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
