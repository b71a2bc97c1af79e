package e2e

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// figures is the table that the suite prints at its end.
var figures table

type table struct {
	mu   sync.Mutex
	rows []figure
}

type figure struct{ what, measured, limit string }

// add adds a row. The limit is only for readers: no test fails because of a measured time.
func (t *table) add(what, measured, limit string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, figure{what, measured, limit})
}

func (t *table) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.rows, func(a, b figure) int { return strings.Compare(a.what, b.what) })
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nmeasured\t\tlimit")
	for _, row := range t.rows {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", row.what, row.measured, row.limit)
	}
	tw.Flush()
}
