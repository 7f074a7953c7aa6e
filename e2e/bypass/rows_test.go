package bypass

import (
	"fmt"
)

// each is a row for each of several values.
func each(id, why string, on channel, want outcome, make func(string) request, values ...string) (rows []row) {
	for _, v := range values {
		rows = append(rows, row{id, why + short(v), on, make(v), want, nil})
	}
	return rows
}

// short is a value as it can stand in a name.
func short(value string) string {
	quoted := fmt.Sprintf("%+q", value)
	quoted = quoted[1 : len(quoted)-1]
	if len(quoted) > 60 {
		quoted = quoted[:60]
	}
	return quoted
}
