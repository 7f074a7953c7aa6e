package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// widest is how many characters of a text that others wrote a table shows.
const widest = 48

// table shows the answers of all dialects for one URL, and whether they agree.
func table(answers []answer) string {
	first := answers[0]
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", visible(first.URL))
	if first.snapshot == nil {
		fmt.Fprintf(&b, "  unknown: %s\n", visible(first.fault.Error()))
		return b.String()
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0) // writes to memory: no error to look at
	fmt.Fprint(w, "  DIALECT\tVERDICT\tLINE\tRULE\tGROUP\n")
	for _, a := range answers {
		d := a.decision
		line, rule, group := "-", "- ("+a.reason()+")", "-"
		if d.Line > 0 {
			line, rule = fmt.Sprint(d.Line), clipped(visible(d.Rule()))
		}
		if d.Form != "" {
			rule += " by the form " + clipped(visible(d.Form))
		}
		if d.Group != "" {
			group = clipped(visible(d.Group))
		}
		if d.GroupLine > 0 { // 0: rules before any group, which some take to be for everyone
			group += fmt.Sprintf(" (line %d)", d.GroupLine)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", a.dialect, a.verdict(), line, rule, group)
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "  robots  %s\n  %s\n", strings.Join(first.source(), ", "), agreement(answers))
	return b.String()
}

// agreement says whether all answers have the same verdict, and who has which.
func agreement(answers []answer) string {
	var verdicts []string
	names := make(map[string][]string)
	for _, a := range answers {
		v := a.verdict()
		if !slices.Contains(verdicts, v) {
			verdicts = append(verdicts, v)
		}
		names[v] = append(names[v], a.dialect.Name())
	}
	if len(verdicts) == 1 {
		return "all dialects agree: " + verdicts[0]
	}
	for i, v := range verdicts {
		verdicts[i] = v + " for " + strings.Join(names[v], ", ")
	}
	return "dialects disagree: " + strings.Join(verdicts, "; ")
}

// clipped shortens a text to what fits into a column.
func clipped(text string) string {
	if utf8.RuneCountInString(text) <= widest {
		return text
	}
	return string([]rune(text)[:widest-1]) + "…"
}
