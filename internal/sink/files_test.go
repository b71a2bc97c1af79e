package sink

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Another pod that writes to the volume of the destination replaces a sink's files. The sink
// still delivers and saves its cursor, and does not touch files outside the destination.
func TestAnotherPodPutsThingsInThePlaceOfASinksFiles(t *testing.T) {
	for name, put := range map[string]func(r *rig, state files, outside string) error{
		"a FIFO that becomes the cursor": func(_ *rig, state files, _ string) error {
			return unix.Mkfifo(state.path("test.json.next"), 0o666)
		},
		"a FIFO in the place of the cursor": func(_ *rig, state files, _ string) error {
			return unix.Mkfifo(state.path("test.json"), 0o666)
		},
		"a link in the place of the cursor": func(_ *rig, state files, outside string) error {
			return os.Symlink(filepath.Join(outside, "precious"), state.path("test.json"))
		},
		"a file of another, linked to what becomes the cursor": func(_ *rig, state files, outside string) error {
			return os.Link(filepath.Join(outside, "precious"), state.path("test.json.next"))
		},
		"a link to a directory": func(_ *rig, state files, outside string) error {
			if err := os.Remove(state.path("")); err != nil {
				return err
			}
			return os.Symlink(outside, state.path(""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false)
			r.must(r.end())
			state, outside := files{r.dest}, t.TempDir()
			r.must(os.RemoveAll(state.path("")))
			r.must(os.MkdirAll(state.path(""), 0o750))
			r.must(os.WriteFile(filepath.Join(outside, "precious"), []byte("precious"), 0o644))
			r.must(put(r, state, outside))
			r.begin()
			r.commits("gc.log", "[1s][info][gc] one")
			r.gets(1)
			r.must(r.end())
			if c, err := loadCursors(state, "test.json"); err != nil || len(c) != 1 {
				t.Errorf("the cursors are %v, error %v; want 1 cursor and no error", c, err)
			}
			text, err := os.ReadFile(filepath.Join(outside, "precious"))
			if entries, _ := os.ReadDir(outside); err != nil || string(text) != "precious" || len(entries) != 1 {
				t.Errorf("entries outside the destination: %v; the file has %q, error %v; want 1 entry, precious and no error", entries, text, err)
			}
		})
	}
}

// Refused lines are listed only in a regular file that has no other name.
func TestAListOfWhatWasSetAsideThatIsAnothersFile(t *testing.T) {
	for name, put := range map[string]func(path, precious string) error{
		"a hard link": func(path, precious string) error { return os.Link(precious, path) },
		"a FIFO":      func(path, _ string) error { return unix.Mkfifo(path, 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			state, precious := newState(t), filepath.Join(t.TempDir(), "precious")
			if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := put(state.path("test.rejected.jsonl"), precious); err != nil {
				t.Fatal(err)
			}
			err := aside{state, "test.rejected.jsonl"}.add(refusedRange{})
			if text, _ := os.ReadFile(precious); err == nil || string(text) != "precious" {
				t.Errorf("error %v, the file is %q; want an error and precious", err, text)
			}
		})
	}
}

// A cursor file that is larger than any that a sink writes is not decoded.
func TestAHugeCursorFile(t *testing.T) {
	state := newState(t)
	text := `{"streams":{"gc.log":{"segment":""}},"more":"` + strings.Repeat("x", cursorLimit) + `"}`
	if err := os.WriteFile(state.path("test.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := loadCursors(state, "test.json"); err == nil {
		t.Errorf("the huge file was decoded: %v, want an error", c)
	}
}
