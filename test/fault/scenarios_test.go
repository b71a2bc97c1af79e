package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// scenarios is a table of what became of the lines in the tests of this package, except for tests with their own
// table. TestPeakMemoryOfAllSidecars prints it.
var scenarios = lab.NewTable("Faults, and what became of the lines",
	"scenario", "lines", "persisted", "dropped", "of these at warning or above", "gaps", "lost by the JVM", "slowest write", "account")

// happened adds a row.
func happened(t *testing.T, a lab.Account, slowest time.Duration) {
	verdict := "exact"
	if !a.Exact() {
		verdict = "WRONG"
	}
	dropped := a.Dropped.Total()
	scenarios.Add(strings.TrimPrefix(t.Name(), "Test"), a.Written.Total(), a.Persisted.Total(), dropped.Total(), dropped.From(lab.Warning), a.Gaps, a.Cut, slowest, verdict)
}

// balanced adds a row for a scenario in which no line may be dropped.
func balanced(t *testing.T, b lab.Balance, slowest time.Duration) {
	verdict := "exact"
	if !b.Exact() {
		verdict = "WRONG"
	}
	scenarios.Add(strings.TrimPrefix(t.Name(), "Test"), b.Written, b.Persisted, 0, 0, 0, b.Lost, slowest, verdict)
}
