package levels

import (
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
)

var knownNames = []string{"container", "xlog", "segment-bytes"}

func selected(t testing.TB, text string) ask.Selection {
	t.Helper()
	s, err := ask.ParseSelection(text)
	must(t, err)
	return s
}
