package checkpoint

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// FuzzSlot writes the input into one slot, while the other slot is good or missing. With
// the key, no input must be accepted as a checkpoint. Without the key, an input may be
// accepted, but nothing may panic.
func FuzzSlot(f *testing.F) {
	dir := f.TempDir()
	committed(f, otherKey, dir)
	sample, err := os.ReadFile(filepath.Join(dir, slotNames[0]))
	if err != nil {
		f.Fatal(err)
	}
	sample = bytes.TrimRight(sample, "\x00") // a slot with another key
	for _, seed := range [][]byte{nil, sample, sample[:len(sample)/2], {0, 0, 0}, []byte("ullage-checkpoint 1 -1 \n"),
		[]byte("ullage-checkpoint 1 99999999999999999999 00\n{}"), []byte("ullage-checkpoint 2 2 00\n{}")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, forged []byte) {
		dir := t.TempDir()
		good := committed(t, testKey, dir) // in slot 0
		if err := os.WriteFile(filepath.Join(dir, slotNames[1]), forged, 0o600); err != nil {
			t.Fatal(err)
		}
		silent := attached(t, nil, dir)
		silent.Load()
		silent.Unseal(testKey, 0)
		c := attached(t, testKey, dir)
		if found := c.Load(); !found.Marked || !maps.Equal(c.Files(), good.Files()) {
			t.Fatalf("next to a forged slot, Load found %+v and the files %+v; want Marked true and %+v", found, c.Files(), good.Files())
		}
		if err := os.Remove(filepath.Join(dir, slotNames[0])); err != nil {
			t.Fatal(err)
		}
		if found := attached(t, testKey, dir).Load(); found.Marked {
			t.Fatalf("the forged slot was accepted: %+v, want Marked false", found)
		}
	})
}
