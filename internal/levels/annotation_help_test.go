package levels

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/selection"
)

var knownNames = []string{"container", "xlog", "segment-bytes"}

func selected(t testing.TB, text string) selection.Selection {
	t.Helper()
	s, err := selection.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kubeletFile writes annotations as the kubelet does.
func kubeletFile(annotations map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		fmt.Fprintf(&b, "%v=%q\n", key, annotations[key])
	}
	return strings.TrimSuffix(b.String(), "\n")
}
