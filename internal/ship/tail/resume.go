package tail

import (
	"cmp"

	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// leftovers handles the positions in the checkpoint and the records in the spool that an
// earlier process has left. It matches them with the files that a scan finds, and with files
// that are gone.
type leftovers struct {
	*env
	dir   *directory
	table *source.Table
	spool *spooler
	punch puncher

	expected  bool // the records have been adopted
	unaligned bool // lines that the first scan finds may already be persisted
}

// expectOnce adopts the records if expect was not called: there is then no checkpoint.
func (l *leftovers) expectOnce() {
	if !l.expected {
		l.expect(nil)
	}
}

// expect adopts the positions of an earlier process and the records in the spool. The newest
// content of a file waits for the file. An older content has only its records left.
func (l *leftovers) expect(saved map[position.Content]position.Saved) {
	l.expected = true
	newest := map[position.Identity]source.Known{}
	take := func(of position.Content, p position.Saved) {
		if have, ok := newest[of.Identity]; !ok || of.Epoch >= have.Epoch {
			newest[of.Identity] = source.Known{Saved: p, Epoch: of.Epoch}
		}
	}
	for of, list := range l.spool.pending {
		take(of, position.Saved{Stream: list[0].Stream})
	}
	for of, p := range saved {
		take(of, p)
	}
	for id, k := range newest {
		if have, ok := l.table.Absent.Saved[id]; ok && have.Epoch >= k.Epoch {
			k, newest[id] = have, have // its file is already awaited
		}
		if l.table.Held[id] == nil {
			l.table.Absent.Await(id, k)
		}
	}
	for of := range l.spool.pending {
		if of != newest[of.Identity].Content(of.Identity) || l.table.Held[of.Identity] != nil {
			l.strand(of, saved[of])
		}
	}
	for of := range saved {
		if of != newest[of.Identity].Content(of.Identity) && l.table.Files[of] == nil {
			l.table.LetGo(of)
		}
	}
}

// strand continues with the records of a content that its file no longer holds, and reports
// whether there are such records. Like a file that a scan finds, they wait for their place in
// the stream.
func (l *leftovers) strand(of position.Content, saved position.Saved) bool {
	list := l.spool.take(of, saved.Offset)
	if len(list) == 0 {
		return false
	}
	place := source.Rank{Round: 1, Age: int64(of.Ino)} // as if the first scan had found it
	if !l.dir.countsUp {
		place.Age = of.Born
	}
	if saved.Offset > 0 {
		place.Round = 0
	}
	f := &source.File{Of: of, Inode: source.Inode{FD: -1}, Rank: place, Read: source.Reading{OpenLevel: saved.Level}, Unaligned: l.unaligned}
	saved.Open = saved.Open && saved.Offset > 0
	f.Read.Position, f.Queued, f.Committed = saved.Position, saved.Position, saved.Position
	for _, r := range list {
		f.Records.Add(r)
	}
	l.add(l.table, f, cmp.Or(saved.Stream, list[0].Stream))
	return true
}

// resume moves a newly opened file to its saved position and adopts the records after it.
// If the file does not hold the position, it was truncated.
func (l *leftovers) resume(f *source.File, saved position.Saved, waited bool) {
	if data, err := f.Inode.NextData(0); err == nil {
		f.Inode.Reclaimed = data &^ (position.PageSize - 1)
	}
	f.Inode.LookWhetherHollow()
	f.Unaligned = l.unaligned
	for _, r := range l.spool.take(f.Of, saved.Offset) {
		f.Records.Add(r)
	}
	if !waited {
		return
	}
	l.table.Absent.Remove(f.Of.Identity)
	saved.Open = saved.Open && saved.Offset > 0
	f.Read.Position, f.Queued, f.Committed = saved.Position, saved.Position, saved.Position // even if it was truncated
	if f.Inode.Holds(saved.Position) && f.HoldsRecords() && f.MoveTo(saved.Position) == nil {
		l.table.ComeBack(f)
		for i := range f.Records.List {
			l.punch.record(f, &f.Records.List[i])
		}
		return
	}
	l.metrics.truncations.Inc()
	// messages.md#the-source: The file was truncated and rewritten while the sidecar was down.
	// ullage reads it from its beginning, after the old lines that are in the spool.
	l.log.Warn("source file does not hold the checkpoint's position", "file", f.Entry.Name, "position", saved.Offset,
		"hint", "the file is read from its beginning")
	l.table.Renew(f).Unheld = true
}

// rejoin continues with the records of a content whose file was just found.
func (l *leftovers) rejoin(f *source.File) {
	l.table.Absent.Remove(f.Of.Identity)
	if !f.Inode.Holds(f.Committed) || !f.HoldsRecords() || f.JumpTo(f.Read.Position) != nil {
		l.metrics.truncations.Inc()
		l.table.Renew(f).Unheld = true
	}
}

// aligned records that reading begins where persisting ended.
func (l *leftovers) aligned() {
	l.unaligned = false
	for _, f := range l.table.Files {
		f.Unaligned = false
	}
}
