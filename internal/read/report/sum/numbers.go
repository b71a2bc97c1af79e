package sum

import "slices"

// maxSkipped bounds the number of ranges that may still appear.
const maxSkipped = 16

// numbers finds the collections that are missing from the log of one run. It uses the numbers of
// the collections that have a pause. A single missing number may belong to a cycle without a pause, and
// concurrent cycles appear late. So a gap is reported only if two or more adjacent numbers
// never appear. The zero value has seen no number.
type numbers struct {
	next    int64     // the number after the highest number; 0: no number has been seen
	skipped []skipped // ranges that may still appear, oldest first
	missing uint64    // count of numbers that can no longer appear
}

// skipped is a range of numbers, both included.
type skipped struct{ from, to int64 }

// add records the number of a pause.
func (n *numbers) add(gc int64) {
	if gc < n.next {
		n.skipped = slices.DeleteFunc(n.skipped, func(s skipped) bool { return s.from <= gc && gc <= s.to })
		return
	}
	if n.next > 0 && gc >= n.next+2 {
		if len(n.skipped) == maxSkipped {
			n.missing += n.skipped[0].size()
			n.skipped = slices.Delete(n.skipped, 0, 1)
		}
		n.skipped = append(n.skipped, skipped{n.next, gc - 1})
	}
	n.next = gc + 1
}

func (s skipped) size() uint64 { return uint64(s.to - s.from + 1) }

// count returns how many collections are missing.
func (n *numbers) count() uint64 {
	sum := n.missing
	for _, s := range n.skipped {
		sum += s.size()
	}
	return sum
}
