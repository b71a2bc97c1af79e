package tail

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// Uncommitted lines of a refused stream are handed on again only once the stream is no
// longer refused.
func TestRefusedStreamIsReadAgainFromItsCommit(t *testing.T) {
	r := newRig(t)
	bad, good := r.writer("bad.log"), r.writer("good.log")
	r.write(bad, "1\n")
	r.read()
	r.commit()
	r.write(bad, "2\n")
	r.read()
	r.src.Capacity.Refuse(map[string]error{"bad.log": nil})
	r.write(bad, "3\n")
	r.write(good, "1\n")
	r.read()
	if got := r.got["bad.log"].String(); got != "1\n2\n" {
		t.Errorf(`%q was handed on, want "1\n2\n", and nothing while the stream is refused`, got)
	}
	if got := r.got["good.log"].String(); got != "1\n" {
		t.Errorf("the other stream handed on %q, want \"1\\n\"", got)
	}
	r.got["bad.log"].Reset()
	r.src.Capacity.Refuse(nil)
	r.src.Start.Rewind()
	r.read()
	if got := r.got["bad.log"].String(); got != "2\n3\n" {
		t.Errorf("handed on afterwards: %q, want the uncommitted lines", got)
	}
}

// Files of refused streams leave half of the descriptors to other streams. They are read to
// their ends when it is their turn.
func TestRefusedStreamsLeaveDescriptors(t *testing.T) {
	r := newRig(t)
	r.src.Capacity.maxHeld = 8
	names := map[string]error{}
	for i := range 8 {
		name := fmt.Sprintf("bad%d.log", i)
		names[name] = nil
		r.put(name, "1\n2\n")
	}
	r.read()
	r.put("good.log", "1\n")
	r.src.Capacity.Refuse(names)
	r.got = map[string]*strings.Builder{}
	r.read()
	if r.got["good.log"] == nil || len(r.got) > 1 {
		t.Fatalf("handed on: %v, want only good.log", r.got)
	}
	if n := r.src.Stats().Ignored[IgnoredTooMany]; n != 4 {
		t.Errorf("%d files wait for a descriptor, want 4", n)
	}
	r.src.Capacity.Refuse(nil)
	r.src.Start.Rewind()
	for range 4 {
		r.read()
		r.commit()
	}
	for name := range names {
		if got := r.got[name]; got == nil || got.String() != "1\n2\n" {
			t.Errorf(`%s: handed on %v, want "1\n2\n"`, name, got)
		}
	}
}

// The checkpoint knows a file before anything in it is committed. If the file is deleted
// while it waits for a descriptor, the checkpoint forgets it.
func TestReleasedFileThatIsDeletedIsLetGoOf(t *testing.T) {
	r := newRig(t)
	r.src.Capacity.maxHeld = 2
	for _, name := range []string{"a.log", "b.log"} {
		r.put(name, "1\n")
	}
	r.read() // nothing is committed
	met := map[position.Content]bool{}
	for id := range r.src.table.Files {
		met[id] = true
	}
	r.src.Capacity.Refuse(map[string]error{"a.log": nil, "b.log": nil})
	if len(r.src.table.Files) != 1 {
		t.Fatalf("%d files are held, want 1", len(r.src.table.Files))
	}
	for id, f := range r.src.table.Files {
		delete(met, id)
		for _, name := range []string{"a.log", "b.log"} {
			if name != f.Entry.Name {
				os.Remove(r.path(name))
			}
		}
	}
	r.read()
	gone, _ := r.src.Reclaimer.Reclaim()
	for _, id := range gone {
		delete(met, id)
	}
	if len(met) > 0 {
		t.Errorf("the checkpoint keeps %d deleted files, want none", len(met))
	}
}

// A Relief with Refused set drops no lines of other streams.
func TestOnlyRefusedStreamsLoseLines(t *testing.T) {
	r := newRig(t)
	text := ""
	for i := range 5000 {
		text += fmt.Sprintf("[%d.000s][debug][gc] %060d\n", i, i)
	}
	bad, good := r.writer("bad.log"), r.writer("good.log")
	r.write(good, text+text)
	r.write(bad, text)
	if _, err := r.src.Scanner.Scan(); err != nil {
		t.Fatal(err)
	}
	r.src.Capacity.Refuse(map[string]error{"bad.log": nil})
	r.src.Relief.Weigh()
	relief := everything
	relief.Refused = true
	if freed := r.src.Relief.Drop(ul.DropAll, relief); freed == 0 || freed > int64(len(text)) {
		t.Errorf("%d bytes were dropped, want some of the %d bytes of the refused stream", freed, len(text))
	}
	r.read()
	if got := r.got["good.log"].String(); got != text+text {
		t.Errorf("%d bytes of the other stream were handed on, want %d", len(got), 2*len(text))
	}
}

// A refused stream is gone once a scan has looked for its files and found none. It is not gone
// while its files wait for a descriptor.
func TestRefusedStreamIsGoneOnlyOnceAScanHasLookedForIt(t *testing.T) {
	r := newRig(t)
	r.src.Capacity.maxHeld = 2
	names := map[string]error{"a.log": nil, "b.log": nil, "never.log": nil}
	gone := func(want ...string) {
		t.Helper()
		if got := slices.Sorted(maps.Keys(r.src.Stats().Gone)); !slices.Equal(got, want) {
			t.Errorf("the refused streams without files are %q, want %q", got, want)
		}
	}
	for name := range names {
		r.put(name, "1\n")
	}
	os.Remove(r.path("never.log"))
	r.read()
	r.src.Capacity.Refuse(names)
	gone() // no scan has looked for it yet
	if len(r.src.table.Files) != 1 {
		t.Fatalf("%d files are held, want 1", len(r.src.table.Files))
	}
	r.read()
	gone("never.log") // of the other two files, one is held and one waits
	waits := "a.log"
	for _, f := range r.src.table.Held {
		if f.Entry.Name == waits {
			waits = "b.log"
		}
	}
	os.Remove(r.path("a.log"))
	os.Remove(r.path("b.log"))
	gone("never.log")
	r.read()
	gone(waits, "never.log") // the lines of the third stream are in a held file without a name
}
