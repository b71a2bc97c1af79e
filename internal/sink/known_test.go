package sink

import (
	"fmt"
	"testing"

	"github.com/ullage/ullage/internal/segment/summary"
)

// What sums are kept is bounded, however far behind the sink is.
func TestTheLatestSumsAreKept(t *testing.T) {
	var k sums
	if k.of("gc.log", "1") != nil {
		t.Error("a sum of nothing")
	}
	for n := range 3 * mostKnown {
		k.add("gc.log", fmt.Sprint(n), summary.Segment{Size: int64(n)})
		k.add("gc.log", fmt.Sprint(n), summary.Segment{Size: int64(n)})
	}
	if len(k.by) != mostKnown || len(k.order) != mostKnown {
		t.Errorf("%d sums, %d keys", len(k.by), len(k.order))
	}
	if s := k.of("gc.log", fmt.Sprint(3*mostKnown-1)); s == nil || s.Size != 3*mostKnown-1 || k.of("gc.log", "0") != nil || k.of("a.log", fmt.Sprint(3*mostKnown-1)) != nil {
		t.Errorf("the last is %+v", s)
	}
}
