package ship

import (
	"slices"
	"testing"
	"time"
)

func TestLoadIsCalmOnlyAfterAWhile(t *testing.T) {
	begin := time.Unix(0, 0)
	var told []bool
	l := load{tell: func(busy bool) { told = append(told, busy) }, busy: true, last: begin}
	for _, c := range []struct {
		name string
		at   time.Duration
		busy bool
		want []bool
	}{
		{"still young", calmAfter / 2, false, nil},
		{"busy as before", calmAfter - 1, true, nil},
		{"busy shortly before", calmAfter, false, nil},
		{"calm", 2 * calmAfter, false, []bool{false}},
		{"calm as before", 3 * calmAfter, false, []bool{false}},
		{"busy at once", 3*calmAfter + 1, true, []bool{false, true}},
	} {
		if l.see(c.busy, begin.Add(c.at)); !slices.Equal(told, c.want) {
			t.Errorf("%s: reported %v, want %v", c.name, told, c.want)
		}
	}
	(&load{}).see(true, begin) // must not panic without tell
}
