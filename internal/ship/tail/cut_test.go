package tail

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/ship/position"
)

// A full tmpfs cuts a line at the end of a page, which may be anywhere in the line. The lines
// before it may have been read long before.
func TestALineCutByAFullTmpfsIsCounted(t *testing.T) {
	line := func(second int, text string) string {
		return fmt.Sprintf("[2026-11-23T04:16:%02d.183+0000][%d.137s][26724][info ][gc,heap,exit   ] %s\n", second, second, text)
	}
	next := line(9, "next")
	for name, torn := range map[string]string{
		"in its message":                  line(1, "torn")[:74],
		"in its decorations":              line(1, "torn")[:11],
		"between its decorations":         line(1, "torn")[:30],
		"a further line":                  "  and its further li",
		"its first byte":                  line(1, "torn")[:1],
		"after a record of several lines": line(1, "torn")[:40],
	} {
		for _, apart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, read apart: %v", name, apart), func(t *testing.T) {
				r := newRig(t)
				first := line(1, "first") + line(1, "of") + "  two lines\n"
				fill := position.PageSize - len(torn) - len(first)
				text := line(1, strings.Repeat("x", fill-len(line(1, "")))) + first + torn
				if len(text) != position.PageSize {
					t.Fatalf("the text has %d bytes, want a page", len(text))
				}
				r.put("gc.log", text)
				if apart {
					r.read()
				}
				r.put("gc.log", next+line(9, "more"))
				r.read()
				m := &r.src.env.metrics
				if n := testutil.ToFloat64(m.jvmCut.WithLabelValues("gc.log")); n != 1 {
					t.Errorf("%v cut lines were counted, want 1", n)
				}
				if lost := testutil.ToFloat64(m.jvmLost.WithLabelValues("gc.log")); lost != 8 {
					t.Errorf("%v seconds were counted as lost, want 8", lost)
				}
			})
		}
	}
}
