package naming

import "testing"

func TestFilesOfARotatedSetAreOneStream(t *testing.T) {
	for name, want := range map[string]string{
		"gc.log": "gc.log", "gc.log.0": "gc.log", "gc.log.12": "gc.log", "gc.log.1234": "gc.log.1234",
		"gc.log.0.current": "gc.log", "gc.log.12.current": "gc.log", "gc.log.current": "gc.log.current", ".current": ".current", ".0.current": ".0.current",
		"hs_err_pid1.log.0.current": "hs_err_pid1.log.0.current",
	} {
		if got := StreamOf(name); got != want {
			t.Errorf("the stream of %q is %q, want %q", name, got, want)
		}
	}
}

// The directory of a stream called lost+found would belong to the file system, and retention would ignore it.
func TestNamesThatStreamsCannotHave(t *testing.T) {
	for name, want := range map[string]bool{
		"lost+found": false, "lost+found.0": false, ".hidden": false, "a\nb": false, "lost+found.log": true, "gc.log.1": true,
	} {
		if got := Valid(name); got != want {
			t.Errorf("Valid(%q) is %v, want %v", name, got, want)
		}
	}
}
