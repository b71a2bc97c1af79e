package tail

import (
	"cmp"

	"github.com/ullage/ullage/internal/position"
)

// Restore gives the positions of a checkpoint, before the first Scan. A file
// that does not hold its position is read from its beginning. Lost says that
// there was a checkpoint and is none: what the first Scan finds may be persisted
// already, and nothing of it is moved or dropped before [Source.Aligned].
func (s *Source) Restore(saved map[position.Content]position.Saved, lost bool) {
	s.unaligned = lost
	s.open.load(saved)
	s.expect(saved)
}

// expect takes in what an earlier process has left: positions, and the records
// of the spool. The newest content of a file waits for the file. Of an older one
// there is nothing but its records.
func (s *Source) expect(saved map[position.Content]position.Saved) {
	s.expected = true
	newest := map[position.Identity]known{}
	take := func(of position.Content, p position.Saved) {
		if have, ok := newest[of.Identity]; !ok || of.Epoch >= have.epoch {
			newest[of.Identity] = known{Saved: p, epoch: of.Epoch}
		}
	}
	for of, list := range s.spool.pending {
		take(of, position.Saved{Stream: list[0].Stream})
	}
	for of, p := range saved {
		take(of, p)
	}
	for id, k := range newest {
		if have, ok := s.absent.saved[id]; ok && have.epoch >= k.epoch {
			k, newest[id] = have, have // its file waits already
		}
		if s.held[id] == nil {
			s.absent.await(id, k)
		}
	}
	for of := range s.spool.pending {
		if of != newest[of.Identity].content(of.Identity) || s.held[of.Identity] != nil {
			s.strand(of, saved[of])
		}
	}
	for of := range saved {
		if of != newest[of.Identity].content(of.Identity) && s.files[of] == nil {
			s.letGo(of)
		}
	}
}

// strand goes on with the records of a content whose file does not hold it any
// more, and reports whether there are any. Like a file that a scan finds, they
// wait for their place in the stream.
func (s *Source) strand(of position.Content, saved position.Saved) bool {
	list := s.spool.take(of, saved.Offset)
	if len(list) == 0 {
		return false
	}
	place := rank{round: 1, age: int64(of.Ino)} // as if the first scan had found it
	if !s.listing.countsUp {
		place.age = of.Born
	}
	if saved.Offset > 0 {
		place.round = 0
	}
	f := &File{of: of, fd: -1, rank: place, openLevel: saved.Level, unaligned: s.unaligned}
	saved.Open = saved.Open && saved.Offset > 0
	f.read, f.queued, f.committed = saved.Position, saved.Position, saved.Position
	for _, r := range list {
		f.records.add(r)
	}
	f.stream = s.streamOf(cmp.Or(saved.Stream, list[0].Stream))
	s.files[of] = f
	s.streams.join(f)
	return true
}

// Aligned says that reading begins where persisting has ended.
func (s *Source) Aligned() {
	s.unaligned = false
	for _, f := range s.files {
		f.unaligned = false
	}
}

// Unheld returns the streams that have a file that did not hold its position.
// Of these the source cannot supply again what a checkpoint takes for
// uncommitted.
func (s *Source) Unheld() map[string]struct{} {
	names := map[string]struct{}{}
	for _, f := range s.files {
		if f.unheld {
			names[f.stream.name] = struct{}{}
		}
	}
	return names
}

// Unread returns the streams of which there is anything to read, or may be in a
// file that is not held yet.
func (s *Source) Unread() map[string]struct{} {
	names := map[string]struct{}{}
	for _, f := range s.files {
		if f.held() && f.read.Offset < f.size || f.read.Open || !f.records.empty() {
			names[f.stream.name] = struct{}{}
		}
	}
	for id := range s.absent.waiting {
		names[s.absent.saved[id].Stream] = struct{}{}
	}
	return names
}

// Anew takes nothing for committed any more: the positions of the checkpoint
// were wrong. Records stay, and Rewind comes next.
func (s *Source) Anew() {
	s.absent.clear()
	clear(s.open.durable)
	for _, f := range s.files {
		f.committed = position.Position{}
	}
}

// restore moves a file that was just opened to its saved position, and takes in
// the records behind it. A file that does not hold these was truncated.
func (s *Source) restore(f *File, saved position.Saved, waited bool) {
	if data, err := f.nextData(0); err == nil {
		f.reclaimed = data &^ (position.PageSize - 1)
	}
	f.lookWhetherHollow()
	f.unaligned = s.unaligned
	for _, r := range s.spool.take(f.of, saved.Offset) {
		f.records.add(r)
	}
	if !waited {
		return
	}
	s.absent.remove(f.of.Identity)
	saved.Open = saved.Open && saved.Offset > 0
	f.read, f.queued, f.committed = saved.Position, saved.Position, saved.Position // also if it was truncated
	if f.holds(saved.Position) && f.holdsRecords() && f.moveTo(saved.Position) == nil {
		s.back[f.of] = position.Saved{Stream: f.stream.name, Position: f.committed} // the checkpoint may have forgotten it
		for i := range f.records.list {
			s.punchRecord(f, &f.records.list[i])
		}
		return
	}
	s.metrics.truncations.Inc()
	s.log.Warn("source file does not hold the checkpoint's position", "file", f.name, "position", saved.Offset,
		"hint", "it is read from its beginning")
	s.renew(f).unheld = true
}

// holdsRecords reports whether all records can be of what is in the file.
func (f *File) holdsRecords() bool {
	for i := range f.records.list {
		if !f.intact(&f.records.list[i]) {
			return false
		}
	}
	return true
}

// Positions returns the read position of every content that is not at its
// beginning, or that has records, and those of files that may still be found.
func (s *Source) Positions() map[position.Content]position.Saved {
	saved := map[position.Content]position.Saved{}
	for id := range s.absent.waiting {
		k := s.absent.saved[id]
		saved[k.content(id)] = k.Saved
	}
	for of, f := range s.files {
		if f.read.Offset > 0 || !f.records.empty() {
			saved[of] = position.Saved{Stream: f.stream.name, Position: f.read}
		}
	}
	s.open.addTo(saved, s.absent.positions())
	return saved
}

// Back returns what the checkpoint may have forgotten, since the last call: the
// positions of files that were gone, and came back.
func (s *Source) Back() map[position.Content]position.Saved {
	for id := range s.absent.back {
		k := s.absent.saved[id]
		s.back[k.content(id)] = k.Saved
	}
	clear(s.absent.back)
	if len(s.back) == 0 {
		return nil
	}
	back := s.back
	s.back = map[position.Content]position.Saved{}
	return back
}

// StreamNames returns the names of the streams that have files.
func (s *Source) StreamNames() []string {
	var names []string
	for name := range s.streams.byName {
		names = append(names, name)
	}
	return names
}
