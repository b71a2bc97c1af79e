package attach

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each step is a tick: "." is a tick without a change, "+" changes the surroundings, and "x" means
// that a JVM has ended. "L" is a tick at which a look is due.
func TestASearchLooksWhereAJVMMayBeNew(t *testing.T) {
	const between = 5 * time.Second
	calm := strings.Repeat(".", int(CalmInterval/between)-1)
	for name, steps := range map[string][2]string{
		"after the start":        {"+........", "LLLLL...."},
		"a process is new":       {"+.......+......", "LLLLL...LLLLL.."},
		"while it becomes a JVM": {"+..+......", "LLLLLLLL.."},
		"a JVM has ended":        {"+......x......", "LLLLL..LLLLL.."},
		"nothing is new":         {"+....." + calm + calm, "LLLLL" + calm + "L" + calm},
	} {
		t.Run(name, func(t *testing.T) {
			s := Search{Looks: 5}
			now, around, looks := time.Now(), uint64(7), ""
			for _, step := range steps[0] {
				if step == '+' {
					around++
				}
				if s.Due(around, step == 'x', now) {
					looks += "L"
				} else {
					looks += "."
				}
				now = now.Add(between)
			}
			if fmt.Sprint(looks) != steps[1] {
				t.Errorf("steps %s\nlooks %s\nwant  %s", steps[0], looks, steps[1])
			}
		})
	}
}
