package tail

import (
	"cmp"

	"github.com/ullage/ullage/internal/ship/position"
)

// leftovers is what an earlier process has left: positions in the checkpoint and
// records in the spool. It brings them together with the files that a scan finds,
// and with files that are gone.
type leftovers struct {
	*env
	dir      *directory
	contents *contents
	spool    *spooler
	punch    puncher

	expected  bool // the records were taken in
	unaligned bool // what the first scan finds may be persisted already
}

// expectOnce adopts the records, if no checkpoint has come with them.
func (l *leftovers) expectOnce() {
	if !l.expected {
		l.expect(nil)
	}
}

// expect adopts what an earlier process has left: positions, and the records
// of the spool. The newest content of a file waits for the file. Of an older one
// there is nothing but its records.
func (l *leftovers) expect(saved map[position.Content]position.Saved) {
	l.expected = true
	newest := map[position.Identity]known{}
	take := func(of position.Content, p position.Saved) {
		if have, ok := newest[of.Identity]; !ok || of.Epoch >= have.epoch {
			newest[of.Identity] = known{Saved: p, epoch: of.Epoch}
		}
	}
	for of, list := range l.spool.pending {
		take(of, position.Saved{Stream: list[0].Stream})
	}
	for of, p := range saved {
		take(of, p)
	}
	for id, k := range newest {
		if have, ok := l.contents.absent.saved[id]; ok && have.epoch >= k.epoch {
			k, newest[id] = have, have // its file waits already
		}
		if l.contents.held[id] == nil {
			l.contents.absent.await(id, k)
		}
	}
	for of := range l.spool.pending {
		if of != newest[of.Identity].content(of.Identity) || l.contents.held[of.Identity] != nil {
			l.strand(of, saved[of])
		}
	}
	for of := range saved {
		if of != newest[of.Identity].content(of.Identity) && l.contents.files[of] == nil {
			l.contents.letGo(of)
		}
	}
}

// strand goes on with the records of a content whose file does not hold it any
// more, and reports whether there are any. Like a file that a scan finds, they
// wait for their place in the stream.
func (l *leftovers) strand(of position.Content, saved position.Saved) bool {
	list := l.spool.take(of, saved.Offset)
	if len(list) == 0 {
		return false
	}
	place := rank{round: 1, age: int64(of.Ino)} // as if the first scan had found it
	if !l.dir.countsUp {
		place.age = of.Born
	}
	if saved.Offset > 0 {
		place.round = 0
	}
	f := &File{of: of, inode: inode{fd: -1}, rank: place, read: reading{openLevel: saved.Level}, unaligned: l.unaligned}
	saved.Open = saved.Open && saved.Offset > 0
	f.read.Position, f.queued, f.committed = saved.Position, saved.Position, saved.Position
	for _, r := range list {
		f.records.add(r)
	}
	l.add(l.contents, f, cmp.Or(saved.Stream, list[0].Stream))
	return true
}

// resume moves a file that was just opened to its saved position, and takes in
// the records behind it. A file that does not hold these was truncated.
func (l *leftovers) resume(f *File, saved position.Saved, waited bool) {
	if data, err := f.inode.nextData(0); err == nil {
		f.inode.reclaimed = data &^ (position.PageSize - 1)
	}
	f.inode.lookWhetherHollow()
	f.unaligned = l.unaligned
	for _, r := range l.spool.take(f.of, saved.Offset) {
		f.records.add(r)
	}
	if !waited {
		return
	}
	l.contents.absent.remove(f.of.Identity)
	saved.Open = saved.Open && saved.Offset > 0
	f.read.Position, f.queued, f.committed = saved.Position, saved.Position, saved.Position // also if it was truncated
	if f.inode.holds(saved.Position) && f.holdsRecords() && f.moveTo(saved.Position) == nil {
		l.contents.comeBack(f)
		for i := range f.records.list {
			l.punch.record(f, &f.records.list[i])
		}
		return
	}
	l.metrics.truncations.Inc()
	l.log.Warn("source file does not hold the checkpoint's position", "file", f.name, "position", saved.Offset,
		"hint", "it is read from its beginning")
	l.contents.renew(f).unheld = true
}

// rejoin goes on with the records of a content whose file was just found.
func (l *leftovers) rejoin(f *File) {
	l.contents.absent.remove(f.of.Identity)
	if !f.inode.holds(f.committed) || !f.holdsRecords() || f.jumpTo(f.read.Position) != nil {
		l.metrics.truncations.Inc()
		l.contents.renew(f).unheld = true
	}
}

// aligned notes that reading begins where persisting has ended.
func (l *leftovers) aligned() {
	l.unaligned = false
	for _, f := range l.contents.files {
		f.unaligned = false
	}
}
