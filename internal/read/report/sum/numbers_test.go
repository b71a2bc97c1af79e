package sum

import "testing"

func TestNumbersOfCollectionsThatNeverAppear(t *testing.T) {
	for _, c := range []struct {
		name    string
		numbers []int64
		missing uint64
	}{
		{"none", nil, 0},
		{"begins in the middle", []int64{100, 101, 102}, 0},
		{"a range", []int64{10, 11, 18, 19}, 6},
		{"a cycle without a pause", []int64{10, 12, 13}, 0},
		{"a concurrent cycle that ends late", []int64{10, 11, 14, 15, 12, 16}, 0},
		{"two ranges", []int64{1, 4, 5, 9}, 5},
		{"several pauses of one", []int64{1, 1, 2, 2, 2, 3}, 0},
		{"back to the beginning", []int64{50, 0, 1, 2}, 0},
	} {
		var n numbers
		for _, gc := range c.numbers {
			n.add(gc)
		}
		if n.count() != c.missing {
			t.Errorf("%s: %d, want %d", c.name, n.count(), c.missing)
		}
	}
	var n numbers
	for i := range int64(1000) {
		n.add(3 * i)
	}
	if n.count() != 2*999 || len(n.skipped) > maxSkipped {
		t.Errorf("%d numbers are missing, in %d ranges; want %d in at most %d", n.count(), len(n.skipped), 2*999, maxSkipped)
	}
}
