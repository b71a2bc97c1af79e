package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// The names of the two groups of a comparison.
const (
	GroupA = "A"
	GroupB = "B"
)

const (
	// trust is the probability that all intervals of a comparison are correct, if each log is a sample of its
	// group. The risk of error is divided equally among the intervals (Bonferroni): with 95 % for each of nine
	// figures, one of them would differ by chance in every third comparison.
	trust = 0.95

	// enoughLogs is how many logs each group must have for an interval of each figure.
	enoughLogs = 6

	// unlikeSpans is how many times longer the logs of one group may be. If they are longer still, figures that
	// grow with the time in the log are not compared.
	unlikeSpans = 1.5
)

// Groups says how group B differs from group A.
type Groups struct {
	Verdict     string       `json:"verdict"` // a sentence
	A           int          `json:"a_logs"`
	B           int          `json:"b_logs"`
	Differences []Difference `json:"differences"` // one for each figure
}

// Difference says by how much a figure is larger in B than in A: the median of all differences between a log of B
// and a log of A, with its interval. If no interval can be given, all three numbers are null.
type Difference struct {
	Name    string   `json:"name"`
	A       *float64 `json:"a_median"`
	B       *float64 `json:"b_median"`
	Shift   *float64 `json:"difference"`
	Low     *float64 `json:"lowest"`
	High    *float64 `json:"highest"`
	Beyond  bool     `json:"beyond_chance"` // the interval does not contain 0
	Refused string   `json:"refused"`       // why there is no interval; empty: there is one
	format  func(float64) string
}

// groups compares the groups.
func (f *Fleet) groups() *Groups {
	all := &Groups{}
	incomplete := 0
	for _, l := range f.Logs {
		if l.Group == GroupA {
			all.A++
		} else {
			all.B++
		}
		if !l.Complete {
			incomplete++
		}
	}
	unlike := f.unlikeSpans()
	for i, figure := range figures {
		d := differenceOf(f.values(i, GroupA), f.values(i, GroupB))
		if figure.grows && unlike != "" {
			d = Difference{A: d.A, B: d.B, Refused: unlike}
		}
		d.Name, d.format = figure.name, figure.format
		all.Differences = append(all.Differences, d)
	}
	all.Verdict = all.verdict()
	if incomplete > 0 {
		all.Verdict += fmt.Sprintf(" Not complete: %s.", Plural(uint64(incomplete), "log"))
	}
	return all
}

// differenceOf compares the values of a figure in the two groups. Both must be sorted.
func differenceOf(a, b []float64) (d Difference) {
	for _, side := range []struct {
		values []float64
		median **float64
	}{{a, &d.A}, {b, &d.B}} {
		if len(side.values) > 0 {
			m := medianOf(side.values)
			*side.median = &m
		}
	}
	s, ok := shiftBetween(a, b, 1-(1-trust)/float64(len(figures)))
	switch {
	case len(a)+len(b) == 0:
		d.Refused = "no log shows it"
	case !ok:
		d.Refused = fmt.Sprintf("too few logs show it: %d in A and %d in B", len(a), len(b))
	default:
		d.Shift, d.Low, d.High, d.Beyond = &s.estimate, &s.low, &s.high, s.low > 0 || s.high < 0
	}
	return d
}

// unlikeSpans says how the times in the logs of the groups differ if one group has much longer logs;
// otherwise, it returns "".
func (f *Fleet) unlikeSpans() string {
	var medians []float64
	for _, group := range []string{GroupA, GroupB} {
		var spans []float64
		for _, l := range f.Logs {
			if l.Group == group && l.span > 0 {
				spans = append(spans, l.span)
			}
		}
		if len(spans) == 0 {
			return ""
		}
		slices.Sort(spans)
		medians = append(medians, medianOf(spans))
	}
	if max(medians[0], medians[1]) <= unlikeSpans*min(medians[0], medians[1]) {
		return ""
	}
	return fmt.Sprintf("it grows with the duration of the log, %s in A and %s in B", Duration(medians[0]), Duration(medians[1]))
}

// verdict says which figures differ.
func (a *Groups) verdict() string {
	var beyond []string
	compared := 0
	for _, d := range a.Differences {
		if d.Refused == "" {
			compared++
		}
		if d.Beyond {
			beyond = append(beyond, fmt.Sprintf("%s (%s, between %s and %s)", d.Name, d.signed(d.Shift), d.signed(d.Low), d.signed(d.High)))
		}
	}
	sizes := fmt.Sprintf("%d in A and %d in B", a.A, a.B)
	switch {
	case compared == 0:
		return fmt.Sprintf("No difference can be established: with %s, there are too few logs, or too few of them show a figure. %d logs in each group are enough.", sizes, enoughLogs)
	case len(beyond) == 0:
		return fmt.Sprintf("No figure of the %d compared differs beyond chance, with %s.", compared, sizes)
	}
	return fmt.Sprintf("B differs from A beyond chance in %d of %d figures, with %s: %s.", len(beyond), compared, sizes, strings.Join(beyond, "; "))
}

// signed formats a difference with its sign. A difference of percentages is in percentage
// points.
func (d Difference) signed(v *float64) string {
	if v == nil {
		return none
	}
	text := d.format(math.Abs(*v))
	if strings.HasSuffix(text, " %") {
		text = fmt.Sprintf("%.3g points", 100*math.Abs(*v))
	}
	switch {
	case *v > 0:
		return "+" + text
	case *v < 0:
		return "−" + text
	}
	return text
}

var differenceColumns = [...]string{"figure", "A", "B", "difference", "from", "to", "beyond chance"}

// rows returns the rows of the table of differences.
func (a *Groups) rows() (rows [][]string) {
	for _, d := range a.Differences {
		says := "no"
		switch {
		case d.Refused != "":
			says = "unknown: " + d.Refused
		case d.Beyond:
			says = "yes"
		}
		rows = append(rows, []string{d.Name, optional(d.A, d.format), optional(d.B, d.format), d.signed(d.Shift), d.signed(d.Low), d.signed(d.High), says})
	}
	return rows
}

// section returns the part of the page that compares the groups.
func (a *Groups) section() g.Node {
	rows := g.Map(a.rows(), func(cells []string) g.Node {
		return row(cells[0], g.Map(cells[1:len(cells)-1], td), h.Td(h.Class("text"), g.Text(cells[len(cells)-1])))
	})
	return h.Section(h.Aria("label", "groups"), h.H2(g.Text("Groups")), h.P(h.Strong(g.Text(a.Verdict))),
		table("figures", "Groups", differenceColumns[:], rows...),
		h.P(h.Class("hint"), g.Text(fmt.Sprintf("A and B are medians. The difference is the median of the differences between each log of B and each log of A. All intervals together hold with %.0f %% confidence.", 100*trust))))
}
