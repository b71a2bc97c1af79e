package levels

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
)

var knownNames = []string{"container", "xlog", "segment-bytes"}

func selected(t testing.TB, text string) ask.Selection {
	t.Helper()
	s, err := ask.ParseSelection(text)
	must(t, err)
	return s
}

// raiseTo is a raise of every output whose lines show their level.
func raiseTo(t testing.TB, selection string, lasts time.Duration) ask.Raise {
	t.Helper()
	return ask.Raise{Selection: selected(t, selection), For: lasts}
}
