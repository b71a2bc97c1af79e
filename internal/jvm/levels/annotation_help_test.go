package levels

import (
	"testing"

	"github.com/ullage/ullage/internal/jvm/selection"
)

var knownNames = []string{"container", "xlog", "segment-bytes"}

func selected(t testing.TB, text string) selection.Selection {
	t.Helper()
	s, err := selection.Parse(text)
	must(t, err)
	return s
}
