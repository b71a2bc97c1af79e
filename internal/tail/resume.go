package tail

import (
	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// Saved is what a checkpoint knows of one file.
type Saved struct {
	Stream   string // empty: as its name says
	Position position.Position
	Gaps     string // those behind the position, encoded. Empty: none
	Anew     string // those of what is in a file that does not hold the position: it was truncated before they were recorded
	Epoch    int    // of this process, see [Chunk.Epoch]; not in a checkpoint
}

// Restore gives the positions of a checkpoint, before the first Scan. A file
// that does not hold its position is read from its beginning. Lost says that
// there was a checkpoint and is none: what the first Scan finds may be persisted
// already, and nothing of it is dropped before [Source.Aligned].
func (s *Source) Restore(files map[position.Identity]Saved, lost bool) {
	s.unaligned = lost
	for id, saved := range files {
		s.absent.await(id, saved)
	}
	s.open.load(files)
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
		if orphan := f.untoldOrphan(); f.read.Offset < f.size || f.read.Open || len(f.gaps) > 0 || orphan.Total() > 0 {
			names[f.stream.name] = struct{}{}
		}
	}
	for id := range s.absent.waiting {
		names[s.absent.saved[id].Stream] = struct{}{}
	}
	return names
}

// Anew takes nothing for committed any more: the positions of the checkpoint
// were wrong. Gaps stay, and Rewind comes next.
func (s *Source) Anew() {
	s.absent.clear()
	clear(s.open.durable)
	for _, f := range s.files {
		f.committed = position.Position{}
	}
}

// restore moves a file that was just opened to its saved position.
func (s *Source) restore(f *File) {
	if data, err := f.nextData(0); err == nil {
		f.reclaimed = data &^ (position.PageSize - 1)
	}
	f.lookWhetherHollow()
	f.unaligned = s.unaligned
	saved, ok := s.absent.saved[f.id]
	if !ok {
		return
	}
	s.absent.remove(f.id)
	f.epoch = saved.Epoch // it goes on counting: the ledger takes a lower one for an old content
	saved.Position.Open = saved.Position.Open && saved.Position.Offset > 0
	if f.holds(saved.Position) && s.moveTo(f, saved) {
		f.gapsChanged = true // if the file was gone, the checkpoint has forgotten its position
		return
	}
	f.unheld = true
	s.metrics.truncations.Inc()
	s.log.Warn("source file does not hold the checkpoint's position", "file", f.name, "position", saved.Position.Offset,
		"hint", "it is read from its beginning")
	if saved.Anew != "" {
		f.restart()
		s.moveTo(f, Saved{Gaps: saved.Anew})
		return
	}
	f.gaps, f.orphan, _ = decodeGaps(saved.Gaps, saved.Position, s.gapsLeft()) // told of in front of what is there now
	s.restart(f)
}

// moveTo moves a file to a saved position, which it holds, and takes in the
// gaps that were recorded behind it. If it does not hold these, it reports false.
func (s *Source) moveTo(f *File, saved Saved) bool {
	gaps, orphan, err := decodeGaps(saved.Gaps, saved.Position, s.gapsLeft())
	for _, g := range gaps {
		if !f.holds(g.end) {
			return false
		}
	}
	if err == nil && saved.Position.Text != 0 && !inText(gaps, saved.Position) {
		err = errGaps
	}
	if err != nil {
		s.log.Error("source file does not match its gaps", "file", f.name, "gaps", len(gaps), "error", err,
			"hint", "no gap marker will be written for its dropped lines")
		gaps, orphan, saved.Position.Text = nil, ul.Gap{}, 0
	}
	if f.moveTo(saved.Position) != nil {
		return false
	}
	f.orphan = orphan
	f.setGaps(gaps)
	return true
}

// inText reports whether p is inside the text of the first gap.
func inText(gaps []gap, p position.Position) bool {
	return len(gaps) > 0 && gaps[0].start == p.Offset && gaps[0].text != nil && p.Text > 0 && p.Text <= gaps[0].text.length
}

// mostGaps bounds the gaps that are taken from what was saved: more than are
// ever recorded. Anybody could have written it.
const mostGaps = 8 << 10

func (s *Source) gapsLeft() int { return max(0, mostGaps-s.Gaps()) }

// Positions returns the read position of every file that is not at its
// beginning, or that has gaps, and those of files that may still be found.
func (s *Source) Positions() map[position.Identity]Saved {
	saved := map[position.Identity]Saved{}
	for id := range s.absent.waiting {
		saved[id] = s.absent.saved[id]
	}
	for id, f := range s.files {
		if orphan := f.untoldOrphan(); f.read.Offset > 0 || len(f.gaps) > 0 || orphan.Total() > 0 {
			saved[id] = Saved{Stream: f.stream.name, Position: f.read, Gaps: encodeGaps(f.gaps, orphan), Epoch: f.epoch}
		}
	}
	s.open.addTo(saved, s.absent.saved)
	return saved
}

// StreamNames returns the names of the streams that have files.
func (s *Source) StreamNames() []string {
	var names []string
	for name := range s.streams.byName {
		names = append(names, name)
	}
	return names
}
