package sink

import (
	"sync"

	"github.com/ullage/ullage/internal/segment/summary"
)

// mostKnown bounds the sums that wait for a delivery: 100 KiB of memory. A sink that is
// further behind reads the segments.
const mostKnown = 256

// sums are those of sealed segments, the latest of them. The zero value has none.
type sums struct {
	mu    sync.Mutex
	by    map[string]summary.Segment // by stream and name
	order []string                   // their keys, the oldest first
}

// add takes the sum of a segment that is sealed.
func (k *sums) add(stream, name string, sum summary.Segment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = map[string]summary.Segment{}
	}
	key := stream + "/" + name
	if _, is := k.by[key]; !is {
		k.order = append(k.order, key)
	}
	k.by[key] = sum
	if len(k.order) > mostKnown {
		delete(k.by, k.order[0])
		k.order = k.order[:copy(k.order, k.order[1:])]
	}
}

// of returns the sum of a segment, or nil if it is not known.
func (k *sums) of(stream, name string) *summary.Segment {
	k.mu.Lock()
	defer k.mu.Unlock()
	sum, ok := k.by[stream+"/"+name]
	if !ok {
		return nil
	}
	return &sum
}

// Sealed records what a segment holds that this process has written and sealed: a sink
// of whole segments need not read it to find out.
func (s *Set) Sealed(stream, name string, sum summary.Segment) { s.sums.add(stream, name, sum) }
