package tail

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// restart opens the source again with the committed positions.
func (r *rig) restart() {
	r.t.Helper()
	saved := map[position.Content]position.Saved{}
	for id, f := range r.src.table.Files {
		if f.Committed.Offset > 0 {
			saved[id] = position.Saved{Stream: f.Stream.Name, Position: f.Committed}
		}
	}
	r.src.Close()
	r.open()
	r.src.Start.Restore(saved, false)
	r.src.Scanner.Scan()
}

func TestRestartGoesOnBehindWhatIsCommitted(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.commit()
	r.write(f, "two\n")
	r.restart()
	r.read()
	r.want("gc.log", "one\ntwo\n")
}

func TestRotationWhileNobodyWasThereIsFollowed(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.commit()
	r.write(f, "two\n")
	f = r.rotate(f, "gc.log", "gc.log.0")
	r.write(f, "three\n")
	r.restart()
	r.read()
	r.want("gc.log", "one\ntwo\nthree\n")
}

func TestTruncationWhileNobodyWasThereStartsOver(t *testing.T) {
	for _, after := range []string{"x\n", strings.Repeat("new line\n", 1000)} {
		r := newRig(t)
		f := r.writer("gc.log")
		r.write(f, "an old line\n")
		r.read()
		r.commit()
		f.Truncate(0)
		r.write(f, after)
		r.restart()
		r.read()
		r.want("gc.log", "an old line\n"+after)
	}
}

func TestReusedInodeIsAnotherFile(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "same head\n")
	r.read()
	r.commit()
	// No file system assigns the same inode number on demand. So the checkpoint is changed
	// to name the new file's number with the old file's time of birth.
	saved := map[position.Content]position.Saved{}
	for id, f := range r.src.table.Files {
		id.Born--
		saved[id] = position.Saved{Stream: "gc.log", Position: f.Committed}
	}
	r.src.Close()
	r.open()
	r.src.Start.Restore(saved, false)
	r.read()
	r.want("gc.log", "same head\nsame head\n")
}

func TestPositionsThatAFileDoesNotHold(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, strings.Repeat("some line\n", 1000))
	r.read()
	var held *source.File
	for _, f := range r.src.table.Files {
		held = f
	}
	good := held.Read.Position
	for _, c := range []struct {
		name   string
		change func(p *position.Position)
	}{
		{"beyond the end", func(p *position.Position) { p.Offset += 10 }},
		{"negative", func(p *position.Position) { p.Offset = -1 }},
		{"another check", func(p *position.Position) { p.Check++ }},
		{"check over more than the page", func(p *position.Position) { p.CheckLen = 1 << 20 }},
		{"negative check", func(p *position.Position) { p.CheckLen = -1 }},
		{"inside a line", func(p *position.Position) { p.Offset -= 3 }},
	} {
		p := good
		c.change(&p)
		if held.Inode.Holds(p) {
			t.Errorf("%s: %+v was accepted as a position", c.name, p)
		}
	}
	if !held.Inode.Holds(good) {
		t.Errorf("%+v was not accepted as a position", good)
	}
}

// TestAlignFindsThePlaceFromHowThePersistedCopyEnds searches the files for different ends
// of a persisted copy.
func TestAlignFindsThePlaceFromHowThePersistedCopyEnds(t *testing.T) {
	const total = 3000
	line := func(i int) string { return fmt.Sprintf("[%d.%03ds][info][gc] line %d\n", i/1000, i%1000, i) }
	text := func(from, to int) string {
		var s strings.Builder
		for i := from; i < to; i++ {
			s.WriteString(line(i))
		}
		return s.String()
	}
	for _, c := range []struct {
		name      string
		persisted int  // lines
		rotated   int  // lines in an older file
		punched   bool // punch the whole pages of the persisted part
	}{
		{"in the middle", 1500, 0, false},
		{"punched", 1500, 0, true},
		{"all", total, 0, false},
		{"all, punched", total, 0, true},
		{"in the older file", 700, 1000, false},
		{"just in the newer file", 1003, 1000, false},
		{"exactly the older file", 1000, 1000, false},
		{"first lines", 2, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			f := r.writer("gc.log")
			if c.rotated > 0 {
				r.write(f, text(0, c.rotated))
				f = r.rotate(f, "gc.log", "gc.log.0")
			}
			r.write(f, text(c.rotated, total))
			persisted := text(0, c.persisted)
			if c.punched {
				rw, _ := os.OpenFile(r.path("gc.log"), os.O_RDWR, 0)
				n := (int64(len(persisted)) - 1) &^ (position.PageSize - 1)
				if err := unix.Fallocate(int(rw.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, n); err != nil {
					t.Fatal(err)
				}
				rw.Close()
			}
			r.src.Scanner.Scan()
			found, err := r.src.Start.Align("gc.log", []byte(persisted[max(0, len(persisted)-4096):]))
			if err != nil || !found {
				t.Fatalf("Align returned %v, %v; want true and no error", found, err)
			}
			r.read()
			if c.persisted == total {
				if b := r.got["gc.log"]; b != nil {
					t.Fatalf("read %s, want nothing", abbreviate(b.String()))
				}
				return
			}
			r.want("gc.log", text(c.persisted, total))
		})
	}
}

func TestAlignWithAnEndThatIsNowhereReadsEverything(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "one\ntwo\n")
	r.src.Scanner.Scan()
	if found, err := r.src.Start.Align("gc.log", []byte("something else\n")); found || err != nil {
		t.Fatalf("Align returned %v, %v; want false and no error", found, err)
	}
	r.read()
	r.want("gc.log", "one\ntwo\n")
}
