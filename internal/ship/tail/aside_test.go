package tail

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// settleAll reads and commits until nothing changes any more.
func (r *rig) settleAll() {
	for range 12 {
		r.read()
		r.commit()
	}
}

// TestFilesBeyondTheDescriptorsTakeTurnsAlsoIfNoneIsUnlinked has more finished files than
// may be held and unlinks none of them.
func TestFilesBeyondTheDescriptorsTakeTurnsAlsoIfNoneIsUnlinked(t *testing.T) {
	const files = 25
	r := newRig(t, func(c *Config) { c.Reclaim = ReclaimNone })
	r.src.Capacity.maxHeld = 7
	name := func(i int) string { return fmt.Sprintf("jvm-%d.log", i) }
	for i := range files {
		r.put(name(i), "one\n")
	}
	r.settleAll()
	for i := range files {
		r.want(name(i), "one\n")
	}
	if waiting := r.src.Stats().Ignored[IgnoredTooMany]; waiting > 0 {
		t.Errorf("%d files wait, want none", waiting)
	}
	for i := range files { // all of them, held or not
		r.put(name(i), "two\n")
	}
	r.settleAll()
	r.reopen(r.src.Start.Positions())
	r.src.Capacity.maxHeld = 7
	r.settleAll()
	for i := range files {
		r.want(name(i), "one\ntwo\n")
		os.Remove(r.path(name(i)))
	}
	r.settleAll()
	if n := len(r.src.table.Absent.Waiting) + len(r.src.table.Absent.Aside) + len(r.src.table.Files); n > 0 {
		t.Errorf("the table still has %d files, but all were removed", n)
	}
}

// A file is not closed if its position cannot be kept, since the file would be read again.
// Positions that no file needs any more make room.
func TestFilesSetAsideAreBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Reclaim = ReclaimNone })
	r.src.Capacity.maxHeld = 1
	r.put("a.log", "a\n")
	r.put("b.log", "b\n")
	r.read()
	for i := range source.MaxFiles {
		r.src.table.Absent.Await(position.Identity{Ino: uint64(1<<40 + i)}, source.Known{})
	}
	r.commit()
	if n := len(r.src.table.Absent.Aside); n > 0 {
		t.Errorf("%d files were set aside without room to keep their positions", n)
	}
	r.settleAll() // the scan does not find the files of those positions
	for _, name := range []string{"a.log", "b.log"} {
		r.want(name, name[:1]+"\n")
	}
	if n := len(r.src.table.Absent.Saved); n > source.MaxFiles {
		t.Errorf("%d positions are kept, want at most %d", n, source.MaxFiles)
	}
}

// A file that was set aside gets a name that does not match, and later its old
// name again.
func TestFileThatWasSetAsideAndRenamedIsNotReadAgain(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Reclaim = ReclaimNone })
	r.src.Capacity.maxHeld = 1
	for _, name := range []string{"a.log", "b.log", "c.log"} {
		r.put(name, name+"\n")
	}
	r.settleAll()
	for _, name := range []string{"a.log", "b.log", "c.log"} {
		os.Rename(r.path(name), r.path("aside"))
		r.settleAll()
		os.Rename(r.path("aside"), r.path(name))
		r.settleAll()
		r.want(name, name+"\n")
	}
}

// A checkpoint tells the contents of a file apart by their epoch. So the epoch of a truncated file must outlive closing
// and opening it again.
func TestFileThatWasSetAsideKeepsItsEpoch(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Reclaim = ReclaimNone })
	r.src.Capacity.maxHeld = 1
	r.put("a.log", "long before\n")
	r.settleAll()
	os.Truncate(r.path("a.log"), 0)
	r.put("a.log", "one\n")
	r.settleAll()
	r.put("b.log", "b\n")
	r.settleAll()
	r.want("b.log", "b\n")
	r.put("a.log", "two\n")
	epoch := -1
	for range 12 {
		r.read()
		for f, c := range r.last {
			if f.Stream() == "a.log" {
				epoch = int(c.File.Content().Epoch)
			}
		}
		r.commit()
	}
	r.want("a.log", "long before\none\ntwo\n")
	if epoch != 1 {
		t.Errorf("the last chunk has epoch %d, want 1, since the file was truncated once", epoch)
	}
}

// A file disappears for one scan and then reappears without being held. It keeps its place
// in the checkpoint, or returns to it.
func TestFileThatComesBackAndWaitsIsInTheCheckpoint(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		t.Run(fmt.Sprintf("forgotten meanwhile: %v", forgotten), func(t *testing.T) {
			r := newRig(t)
			elsewhere := r.dir + "-elsewhere"
			t.Cleanup(func() { os.Remove(elsewhere) })
			r.put("gc.log", "1\n")
			r.read()
			r.commit()
			r.put("gc.log", "2\n")
			checkpoint := r.src.Start.Positions()
			r.src.Close()
			os.Rename(r.path("gc.log"), elsewhere)
			r.reopen(checkpoint)
			settle := func() {
				gone, back := r.src.Reclaimer.Reclaim()
				maps.Copy(checkpoint, back)
				for _, id := range gone {
					delete(checkpoint, id)
				}
			}
			if forgotten {
				settle()
			}
			os.Rename(elsewhere, r.path("gc.log"))
			if err := os.Link(r.path("gc.log"), r.path("second")); err != nil {
				t.Fatal(err)
			}
			r.read()
			settle()
			os.Remove(r.path("second"))
			r.reopen(checkpoint)
			r.read()
			r.want("gc.log", "1\n2\n")
		})
	}
}
