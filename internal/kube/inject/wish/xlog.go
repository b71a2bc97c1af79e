package wish

import (
	"errors"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// defaultXlog is the default selection of a JVM's log.
const defaultXlog = "gc*=info,safepoint=info"

// parseXlog reads the selection that a JVM starts with. The rules are those for a running JVM's
// selection, with two differences. Level off is allowed, because it does not close or delete an
// output at the start. Tags must exist, because a JVM with an unknown tag exits at once.
func parseXlog(text string) (xlog string, warnings []string, err error) {
	given := strings.Split(strings.ToLower(text), ",")
	off := make([]bool, len(given))
	for i := range given {
		given[i] = strings.Trim(given[i], " ")
		if tags, ok := strings.CutSuffix(given[i], "=off"); ok && !strings.Contains(tags, "=") {
			given[i], off[i] = tags, true
		}
	}
	if !slices.Contains(off, false) {
		return "", nil, errors.New("it selects nothing: write it like gc*=info,safepoint=info")
	}
	s, err := ask.ParseSelection(strings.Join(given, ","))
	if err != nil {
		return "", nil, err
	}
	items := strings.Split(s.String(), ",")
	for i, item := range items {
		tags, _, _ := strings.Cut(item, "=")
		if off[i] {
			items[i] = tags + "=off"
		}
		for tag := range strings.SplitSeq(strings.TrimSuffix(tags, "*"), "+") {
			if tag == "all" {
				continue
			}
			warning, err := checkTag(tag)
			if err != nil {
				return "", nil, err
			}
			if warning != "" {
				warnings = append(warnings, warning)
			}
		}
	}
	return strings.Join(items, ","), warnings, nil
}
