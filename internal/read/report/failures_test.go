package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/read/report/view"
)

func TestFailedAllocationsAreCounted(t *testing.T) {
	log := decorated(0, "gc", "Using Shenandoah")
	for i := range 3 {
		s := float64(10 * i)
		log += decorated(s+1, "gc", "Failed to allocate Shared, 403K") + decorated(s+1, "gc", "Cancelling GC: Allocation Failure") +
			decorated(s+2, "gc", "GC("+string(rune('0'+i))+") Pause Degenerated GC (Outside of Cycle) 42M->38M(64M) 2.768ms")
	}
	r := reportOn(t, Config{}, write(t, "gc.log", log))
	if r.Totals.Failed != 3 || r.Totals.Degenerated != 3 || r.Totals.Exhausted != 0 || len(r.Causes) != 1 || r.Causes[0].Name != "degenerated gc · Allocation Failure" {
		t.Errorf("the totals are %+v, the causes %+v, want Failed 3, Degenerated 3, Exhausted 0, 1 in Causes and Name \"degenerated gc · Allocation Failure\"", r.Totals, r.Causes)
	}
	var page, text bytes.Buffer
	if err := errors.Join(view.HTML(&page, r), view.Text(&text, view.Style{}, r)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "; 0 allocation stalls, 3 failed allocations;") || !strings.Contains(text.String(), "degenerated, and 3 allocations failed until") ||
		!strings.Contains(page.String(), `<dt>failed allocations</dt><dd class="warn">3</dd>`) {
		t.Errorf("the report does not show 3 failed allocations:\n%s", text.String())
	}
}

// ZGC rounds the metaspace down to MiB: 0M means less than one MiB.
func TestAMetaspaceThatIsRoundedToNothingIsNotShown(t *testing.T) {
	for size, want := range map[string]string{"0": "–", "12": "12.0 MiB"} {
		r := reportOn(t, Config{}, write(t, "gc.log", decorated(1, "gc", "Using The Z Garbage Collector")+
			decorated(2, "gc,metaspace", "GC(0) Metaspace: "+size+"M used, "+size+"M committed, 1088M reserved")+
			decorated(2, "gc", "GC(0) Garbage Collection (Warmup) 10M(16%)->6M(9%)")))
		shown := func(v *float64) string {
			if v == nil {
				return "–"
			}
			return view.Size(*v)
		}
		if got := shown(r.Runs[0].Metaspace); got != want {
			t.Errorf("%sM: %s, want %s", size, got, want)
		}
	}
}
