package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"heed/policy/lint"
)

// printSARIF prints a report as SARIF 2.1.0: a rule for each code, a result for
// each diagnostic.
func printSARIF(w io.Writer, l lintee, report *lint.Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifReport(l, report))
}

func sarifReport(l lintee, report *lint.Report) *sarif.Report {
	tool := sarif.NewToolComponent().WithName("heed").WithVersion(thisBuild().Version)
	codes := lint.Codes()
	for _, code := range codes {
		rule := sarif.NewRule(string(code)).
			WithShortDescription(sarif.NewMultiformatMessageString().WithText(code.Summary())).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(code.Severity().String()))
		tool.AddRule(rule)
	}
	run := sarif.NewRun().
		WithTool(sarif.NewTool().WithDriver(tool)).
		WithColumnKind("unicodeCodePoints").
		WithNewlineSequences([]string{"\r\n", "\n", "\r"})
	lines := rawLines(l.body, report)
	uri := sarifURI(l.path)
	for _, d := range report.Diagnostics {
		run.AddResult(sarifResult(d, slices.Index(codes, d.Code), uri, lines[d.Line]))
	}
	for _, o := range report.Omitted {
		run.Properties = properties(run.Properties, "omitted:"+string(o.Code), o.More)
	}
	return sarif.NewReport().AddRun(run)
}

// properties adds to a property bag, which is made when there is something in
// it.
func properties(bag *sarif.PropertyBag, key string, value int) *sarif.PropertyBag {
	if bag == nil {
		bag = sarif.NewPropertyBag()
	}
	return bag.Add(key, value)
}

func sarifResult(d lint.Diagnostic, rule int, uri string, line []byte) *sarif.Result {
	region := sarif.NewRegion().WithStartLine(d.Line).
		WithStartColumn(codePoints(line, d.Column)).WithEndColumn(codePoints(line, d.EndColumn))
	result := sarif.NewRuleResult(string(d.Code)).WithRuleIndex(rule).
		WithLevel(d.Severity.String()).
		WithMessage(sarif.NewTextMessage(sentence(d.Message))).
		AddLocation(sarifLocation(uri, region))
	if d.Related > 0 {
		result.AddRelatedLocation(sarifLocation(uri, sarif.NewRegion().WithStartLine(d.Related)))
	}
	return result
}

func sarifLocation(uri string, region *sarif.Region) *sarif.Location {
	return sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
		WithArtifactLocation(sarif.NewSimpleArtifactLocation(uri)).WithRegion(region))
}

// codePoints turns a column in octets into one in characters: SARIF has none in
// octets, and a byte order mark is no part of its text.
func codePoints(line []byte, column int) int {
	before := line[:min(column-1, len(line))]
	return utf8.RuneCount(bytes.TrimPrefix(before, []byte("\uFEFF"))) + 1
}

// sentence ends a message with a full stop, as SARIF has it.
func sentence(message string) string { return strings.ToUpper(message[:1]) + message[1:] + "." }

// sarifURI returns what a path is called in SARIF, which has URIs alone.
func sarifURI(path string) string {
	if strings.Contains(path, "://") {
		return path
	}
	if path == "-" {
		return "stdin"
	}
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}
