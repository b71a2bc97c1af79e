package ship

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ul"
)

// FuzzCheckpoint writes whatever the input is into a slot beside a good one.
// Without the key, no input is taken for a checkpoint: the good one counts, or
// none.
func FuzzCheckpoint(f *testing.F) {
	key := testKey
	good := state{
		Streams: []streamState{{Name: "gc.log", Mark: segment.Mark{Segment: "20261120T100000.000Z-000001.log.zst", Offset: 512}}},
		Files:   []fileState{{Identity: position.Identity{Dev: 1, Ino: 2, Born: 3}, Stream: "gc.log", Position: position.Position{Offset: 99, Check: 5, CheckLen: 64, Level: ul.Debug}, Gaps: "AAAA"}},
	}
	sample := slotOf(f, otherKey, good) // of another key
	for _, seed := range [][]byte{nil, sample, sample[:len(sample)/2], {0, 0, 0}, []byte("ullage-checkpoint 1 -1 \n"),
		[]byte("ullage-checkpoint 1 99999999999999999999 00\n{}"), []byte("ullage-checkpoint 2 2 00\n{}")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, forged []byte) {
		dir := t.TempDir()
		c := attached(t, key, dir)
		if err := c.save(func() state { return good }); err != nil { // the first one goes to slot 0
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, slotNames[1]), forged, 0o600); err != nil {
			t.Fatal(err)
		}
		want := good
		want.Seq = 1
		if l := attached(t, key, dir).load(); !l.marked || !reflect.DeepEqual(l.state, want) {
			t.Fatalf("beside the forged slot: %+v; want %+v", l, want)
		}
		if err := os.Remove(filepath.Join(dir, slotNames[0])); err != nil {
			t.Fatal(err)
		}
		if l := attached(t, key, dir).load(); l.marked {
			t.Fatalf("the forged slot was taken: %+v", l)
		}
	})
}

func attached(t testing.TB, key []byte, path string) *checkpoint {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c := newCheckpoint()
	c.setKey(key)
	c.attach(dir)
	t.Cleanup(func() { c.attach(nil) })
	return c
}

// slotOf returns a slot as save writes it.
func slotOf(t testing.TB, key []byte, st state) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := attached(t, key, dir).save(func() state { return st }); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, slotNames[0]))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(data, "\x00")
}
