package naming

import "testing"

// A stream of that name would lie in a directory that belongs to the file
// system, and that retention never looks at.
func TestNamesThatStreamsCannotHave(t *testing.T) {
	for name, want := range map[string]bool{
		"lost+found": false, "lost+found.0": false, ".hidden": false, "a\nb": false, "lost+found.log": true, "gc.log.1": true,
	} {
		if got := Valid(name); got != want {
			t.Errorf("Valid(%q) is %v", name, got)
		}
	}
}
