package tail

import "testing"

// A stream of that name would lie in a directory that belongs to the file
// system, and that retention never looks at.
func TestNamesThatStreamsCannotHave(t *testing.T) {
	for name, want := range map[string]bool{
		"lost+found": false, "lost+found.0": false, ".hidden": false, "a\nb": false, "lost+found.log": true, "gc.log.1": true,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) is %v", name, got)
		}
	}
}
