package e2e

import (
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
)

// table is what came of each client, printed when all tests have run.
var table struct {
	mu   sync.Mutex
	rows map[string]*row // by the client's name
}

type row struct {
	version string
	absent  string            // why it is not here
	cells   map[string]string // what came of it, by column
}

var columns = []string{"by hand", "heed run", "tunnel"}

// note writes one cell.
func note(client, column, what string) {
	table.mu.Lock()
	defer table.mu.Unlock()
	rowOf(client).cells[column] = what
}

// present writes down that a client ran, or why it could not.
func present(client, version, absent string) {
	table.mu.Lock()
	defer table.mu.Unlock()
	r := rowOf(client)
	r.version, r.absent = version, absent
}

func rowOf(client string) *row {
	if table.rows == nil {
		table.rows = map[string]*row{}
	}
	if table.rows[client] == nil {
		table.rows[client] = &row{cells: map[string]string{}}
	}
	return table.rows[client]
}

// printTable writes the clients that were tried, in the order of clients; it
// writes nothing when the run tried none.
func printTable(w io.Writer) {
	table.mu.Lock()
	defer table.mu.Unlock()
	if len(table.rows) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprint(t, "client\tversion")
	for _, c := range columns {
		fmt.Fprint(t, "\t", c)
	}
	fmt.Fprintln(t)
	ran, absent := 0, 0
	for _, c := range clients {
		r := table.rows[c.name]
		switch {
		case r == nil:
			continue
		case r.absent != "":
			absent++
			fmt.Fprintf(t, "%s\tabsent: %s\n", c.name, r.absent)
			continue
		}
		ran++
		fmt.Fprintf(t, "%s\t%s", c.name, r.version)
		for _, column := range columns {
			what := r.cells[column]
			if what == "" {
				what = "not run"
			}
			fmt.Fprint(t, "\t", what)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	fmt.Fprintf(w, "%d clients ran, %d absent\n", ran, absent)
}
