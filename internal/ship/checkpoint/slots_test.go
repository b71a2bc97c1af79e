package checkpoint

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
)

var (
	testKey  = bytes.Repeat([]byte{7}, 32)
	otherKey = bytes.Repeat([]byte{8}, 32)
	file1    = position.Content{Identity: position.Identity{Dev: 1, Ino: 2, Born: 3}}
	file2    = position.Content{Identity: position.Identity{Dev: 1, Ino: 2, Born: 3}, Epoch: 1}
	at99     = position.Saved{Stream: "gc.log", Position: position.Position{Offset: 99, Check: 5, CheckLen: 64}}
	mark1    = segment.Mark{Segment: "20261120T100000.000Z-000001.log.zst", Offset: 512}
)

func attached(t testing.TB, key []byte, path string) *Checkpoint {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c := New()
	c.SetKey(key, 0)
	c.Attach(dir)
	t.Cleanup(func() { c.Attach(nil) })
	return c
}

// committed saves a checkpoint with two contents of one file.
func committed(t testing.TB, key []byte, dir string) *Checkpoint {
	t.Helper()
	c := attached(t, key, dir)
	c.SetMark("gc.log", mark1)
	c.SetFiles(map[position.Content]position.Saved{file1: at99, file2: {Stream: "gc.log"}})
	c.Uncommitted = 1 << 20
	mustSave(t, c)
	return c
}

func mustSave(t testing.TB, c *Checkpoint) {
	t.Helper()
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
}

func TestCheckpointComesBack(t *testing.T) {
	dir := t.TempDir()
	want := committed(t, testKey, dir)
	want.Lost = true
	mustSave(t, want)
	got := attached(t, testKey, dir)
	if found := got.Load(); !found.Marked || found.Claimed || !found.Begun || found.Invalid != nil {
		t.Errorf("Load found %+v, want Marked true, Claimed false, Begun true and Invalid nil", found)
	}
	if !maps.Equal(got.Files(), want.Files()) || !reflect.DeepEqual(got.marks, want.marks) || !got.Lost || got.Uncommitted != 1<<20 {
		t.Errorf("the checkpoint is %+v, want %+v", got, want)
	}
}

func TestNothingWasBegunInANewSource(t *testing.T) {
	if found := attached(t, testKey, t.TempDir()).Load(); found.Marked || found.Begun || found.Invalid != nil {
		t.Errorf("Load found %+v, want Marked false, Begun false and Invalid nil", found)
	}
}

// A start does not wait for the destination, which has the key. The marks are valid once
// the key is known.
func TestMarksCountOnceTheKeyIsThere(t *testing.T) {
	dir := t.TempDir()
	committed(t, testKey, dir)
	silent := attached(t, nil, dir)
	if found := silent.Load(); found.Marked || !found.Claimed || found.Invalid != nil {
		t.Fatalf("without the key, Load found %+v, want Marked false, Claimed true and Invalid nil", found)
	}
	if len(silent.Streams()) > 0 || silent.Files()[file1] != at99 {
		t.Fatalf("without the key, the marks are %v and the files %v; want no marks, and the file at %+v", silent.Streams(), silent.Files(), at99)
	}
	if invalid := silent.Unseal(testKey, 0); invalid != nil {
		t.Fatalf("with the key, the slots are invalid because of %v, want them valid", invalid)
	}
	if m, ok := silent.Mark("gc.log"); !ok || m != mark1 || silent.Uncommitted != 1<<20 {
		t.Errorf("with the key, the mark is %+v, %v, and %d bytes are uncommitted; want %+v, true, and %d", m, ok, silent.Uncommitted, mark1, 1<<20)
	}
}

// The application writes slots while no process has the key to check them.
func TestSlotThatNobodyCouldAuthenticate(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []byte // keys of the slots before Load and before Unseal
		invalid       bool
	}{
		{"none", nil, nil, false},
		{"of another destination", otherKey, nil, true},
		{"replaced meanwhile", nil, testKey, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.before != nil {
				committed(t, c.before, dir)
			}
			silent := attached(t, nil, dir)
			silent.Load()
			if c.after != nil {
				committed(t, c.after, dir)
			}
			if invalid := silent.Unseal(testKey, 0); (invalid != nil) != c.invalid || len(silent.Streams()) > 0 {
				t.Errorf("the slot is invalid because of %v, want it invalid: %v; the marks of %v are used, want none", invalid, c.invalid, silent.Streams())
			}
		})
	}
}

// A change of --dest is not a forgery.
func TestSlotThatIsNotOursSaysWhatHasHappened(t *testing.T) {
	spoil := func(old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, slotNames[0])
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte(old)) {
				t.Fatalf("the slot does not have %q: %q, error %v", old, text, err)
			}
			if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		key   []byte
		spoil func(t *testing.T, dir string)
		want  error
	}{
		"another destination":           {otherKey, nil, errSlotMoved},
		"changed":                       {testKey, spoil(`"seq":1`, `"seq":2`), errSlotForged},
		"without the name of a key":     {testKey, spoil(slotFor+keyName(testKey), ""), nil},
		"the same, of another":          {otherKey, spoil(slotFor+keyName(otherKey), ""), errSlotForged},
		"with the name of another key":  {testKey, spoil(keyName(testKey), keyName(otherKey)), nil},
		"of another, and with our name": {otherKey, spoil(keyName(otherKey), keyName(testKey)), errSlotForged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			committed(t, c.key, dir)
			if c.spoil != nil {
				c.spoil(t, dir)
			}
			found := attached(t, testKey, dir).Load()
			if err := errors.Join(found.Invalid...); !errors.Is(err, c.want) || found.Marked != (c.want == nil) {
				t.Errorf("the error is %v, accepted is %v; want the error %v", err, found.Marked, c.want)
			} else if c.want == errSlotMoved && (strings.Contains(err.Error(), "forged") || !strings.Contains(err.Error(), "--dest") || Reason(err) != "other_destination") {
				t.Errorf(`the error is %v, with the reason %q; want --dest in it, not "forged", and the reason "other_destination"`, err, Reason(err))
			}
		})
	}
}

// A long slot is read into memory only if its authentication code is right. If the code cannot
// be checked, only a slot of at most claimMaxBytes is.
func TestLongSlotIsNotTakenIntoMemory(t *testing.T) {
	const length = slotMaxBytes - 1024
	for name, key := range map[string][]byte{"with the key": testKey, "without it": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, slotNames[0])
			if err := os.WriteFile(path, fmt.Appendf(nil, slotHeader, length, hex.EncodeToString(make([]byte, 32))), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, slotMaxBytes); err != nil {
				t.Fatal(err)
			}
			c := attached(t, key, dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found := c.Load()
			runtime.ReadMemStats(&after)
			if found.Marked || found.Claimed || len(c.Files()) > 0 {
				t.Errorf("the slot was accepted: %d files, want Marked false, Claimed false and no Files", len(c.Files()))
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("loading the slot allocated %d bytes, want at most 16 MiB", took)
			}
		})
	}
}

// A save does not overwrite the newest slot, so a kill during the save leaves that slot.
func TestSaveLeavesTheNewestSlot(t *testing.T) {
	for name, key := range map[string][]byte{"after a load": testKey, "after an unseal": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustSave(t, committed(t, testKey, dir))
			newest := filepath.Join(dir, slotNames[1])
			before, err := os.ReadFile(newest)
			if err != nil {
				t.Fatal(err)
			}
			c := attached(t, key, dir)
			if c.Load(); key == nil {
				c.Unseal(testKey, 0)
			}
			mustSave(t, c)
			if after, err := os.ReadFile(newest); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the newest slot was overwritten, want it unchanged (%v)", err)
			}
			again := attached(t, testKey, dir)
			if again.Load(); again.slots.seq != 3 {
				t.Errorf("the newest slot has number %d, want 3", again.slots.seq)
			}
		})
	}
}

// A forged number must not make our own checkpoint stale.
func TestForgedNumberIsNotTaken(t *testing.T) {
	for _, seq := range []uint64{2, 1 << 62, 1<<64 - 1} {
		dir := t.TempDir()
		committed(t, testKey, dir)
		forger := attached(t, otherKey, dir)
		forger.slots.seq, forger.slots.next = seq-1, 1
		mustSave(t, forger)
		silent := attached(t, nil, dir)
		silent.Load()
		silent.Unseal(testKey, 0)
		mustSave(t, silent)
		if c := attached(t, testKey, dir); !c.Load().Marked || c.slots.seq != 2 {
			t.Errorf("with the forged number %d, the checkpoint has number %d, want 2, and Marked true", seq, c.slots.seq)
		}
	}
}

func TestForgedStreamNameIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	forger := attached(t, otherKey, dir)
	forger.SetFiles(map[position.Content]position.Saved{file1: {Stream: "../../outside"}})
	mustSave(t, forger)
	c := attached(t, nil, dir)
	if c.Load(); len(c.Files()) != 1 || c.Files()[file1].Stream != "" {
		t.Errorf(`the files are %+v, want one, with Stream ""`, c.Files())
	}
}

func TestStreamsWithoutFilesAreForgottenWhenTheyAreMany(t *testing.T) {
	c := New()
	for _, name := range []string{"a.log", "b.log", "kept.log", "used.log"} {
		c.SetMark(name, mark1)
	}
	c.SetFiles(map[position.Content]position.Saved{file1: {Stream: "used.log"}})
	keep := func(name string) bool { return name == "kept.log" }
	if idle := c.ForgetIdle(2, keep); idle != nil {
		t.Errorf("ForgetIdle forgot %v, want nil", idle)
	}
	if idle := c.ForgetIdle(1, keep); len(idle) != 2 || len(c.Streams()) != 2 {
		t.Errorf("ForgetIdle forgot %v, and %v are left, want 2 forgotten and 2 left", idle, c.Streams())
	}
}

// A content has come back. The reader's position in it is older than the position that was
// committed in the meantime.
func TestPositionThatIsKnownIsNotSetBack(t *testing.T) {
	c := New()
	c.SetFile(file1, at99)
	c.Add(map[position.Content]position.Saved{file1: {Stream: "gc.log"}, file2: {Stream: "gc.log"}})
	if c.Files()[file1] != at99 || len(c.Files()) != 2 {
		t.Errorf("after Add, the files are %+v; want two, the first at %+v", c.Files(), at99)
	}
	if c.Meet(file2, "other.log") || c.Files()[file2].Stream != "gc.log" {
		t.Errorf("after Meet, the files are %+v; want the second still of gc.log, and false from Meet", c.Files())
	}
}

// The application puts a copy of a slot back, or damages the newest slot, so that the older
// one is left.
func TestSlotThatIsOlderThanTheDestinationKnows(t *testing.T) {
	for name, key := range map[string][]byte{"at a load": testKey, "at an unseal": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := committed(t, testKey, dir)
			mustSave(t, c)
			if err := os.Remove(filepath.Join(dir, slotNames[1])); err != nil {
				t.Fatal(err)
			}
			load := func(newest uint64) (c *Checkpoint, invalid []error) {
				dir, err := os.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer dir.Close()
				c = New()
				c.SetKey(key, newest)
				c.Attach(dir)
				t.Cleanup(func() { c.Attach(nil) })
				found := c.Load()
				if key == nil {
					return c, append(found.Invalid, c.Unseal(testKey, newest)...)
				}
				return c, found.Invalid
			}
			if c, invalid := load(c.Number() - 1); len(invalid) > 0 || len(c.Streams()) == 0 {
				t.Errorf("the newest slot was not accepted: %v", invalid) // a process wrote it and was killed before it recorded the number
			}
			if c, invalid := load(c.Number()); len(invalid) != 1 || Reason(invalid[0]) != "stale" || len(c.Streams()) > 0 {
				t.Errorf("a stale slot has the marks of %v and is invalid because of %v; want no marks, and only the reason \"stale\"", c.Streams(), invalid)
			} else if mustSave(t, c); c.Number() != 3 {
				t.Errorf("the next number is %d, want 3", c.Number())
			}
		})
	}
}

// The other slot of the pair is always older, so it is not reported as stale.
func TestOlderSlotOfThePairIsNotReported(t *testing.T) {
	dir := t.TempDir()
	c := committed(t, testKey, dir)
	mustSave(t, c)
	again := attached(t, testKey, dir)
	again.SetKey(testKey, c.Number())
	if found := again.Load(); !found.Marked || found.Invalid != nil {
		t.Errorf("Load found %+v, want Marked true and Invalid nil", found)
	}
}

// A crash of the node loses the numbers that were recorded last, and the application has a
// copy of a slot elsewhere.
func TestEachRunHasHigherNumbersThanAllBefore(t *testing.T) {
	c := attached(t, testKey, t.TempDir())
	c.BeginRun()
	mustSave(t, c)
	recorded := c.Number()
	for range 100 {
		mustSave(t, c)
	}
	next := attached(t, testKey, t.TempDir())
	next.SetKey(testKey, recorded)
	next.BeginRun()
	if mustSave(t, next); next.Number() <= c.Number() {
		t.Errorf("the next run begins with %d, and the one before ended with %d; want a higher number", next.Number(), c.Number())
	}
}

// A copy of an earlier slot must be stale even if no slot could be saved since then.
func TestSaveWithoutASlotUsesANumber(t *testing.T) {
	c := attached(t, testKey, t.TempDir())
	mustSave(t, c)
	c.Attach(nil)
	if mustSave(t, c); c.Number() != 2 {
		t.Errorf("the number is %d, want 2", c.Number())
	}
}
