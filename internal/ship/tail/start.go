package tail

import (
	"maps"
	"slices"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// A Start makes reading begin where persisting ended: when the sidecar starts, and whenever the
// writer starts again. A [Source] has one Start.
type Start struct {
	table   *source.Table
	left    *leftovers
	aligner *aligner
	changes *truncations
}

// Restore sets the positions of a checkpoint before the first Scan. A file that does not hold
// its position is read from its beginning. lost means that a checkpoint is missing: lines that
// the first Scan finds may already be persisted, and none of them is moved or dropped before
// [Start.Aligned].
func (s *Start) Restore(saved map[position.Content]position.Saved, lost bool) {
	s.left.unaligned = lost
	s.table.OpenLines.Load(saved)
	s.left.expect(saved)
}

// LostAfterAll is called after the first Scan, for a source without a checkpoint. It
// reports whether the checkpoint was lost. If it was, LostAfterAll has the same effect as the
// argument lost of [Start.Restore]. A file with a hole at its beginning shows the loss: its bytes were
// freed, so they were persisted, and the checkpoint was removed without a trace.
func (s *Start) LostAfterAll() bool {
	punched := false
	for _, f := range s.table.Files {
		punched = punched || f.GivenBack()
	}
	if punched {
		for _, f := range s.table.Files {
			f.Unaligned = true
		}
	}
	return punched
}

// Found is the result of a scan for streams, by name.
type Found struct {
	Streams []string // streams with files

	// Unheld are the streams with a file that did not hold its position, or with a hole at
	// that position: the bytes there were committed and freed. For these streams, the source
	// cannot supply again the data that a checkpoint regards as uncommitted.
	Unheld map[string]struct{}

	// Unread are the streams with data to read, or with a file that is not held yet and may
	// have data.
	Unread map[string]struct{}
}

// Found returns the result of the first Scan. Each file belongs to its stream in the
// checkpoint.
func (s *Start) Found() Found {
	found := s.found(func(f *source.File) string { return f.Stream.Name })
	for id := range s.table.Absent.Waiting {
		found.Unread[s.table.Absent.Saved[id].Stream] = struct{}{}
	}
	return found
}

// FoundByName is like [Start.Found], with the streams that files will have after
// [Start.ForgetCommits].
func (s *Start) FoundByName() Found { return s.found((*source.File).Named) }

func (s *Start) found(stream func(*source.File) string) Found {
	streams := map[string]struct{}{}
	found := Found{Unheld: map[string]struct{}{}, Unread: map[string]struct{}{}}
	for _, f := range s.table.Files {
		name := stream(f)
		streams[name] = struct{}{}
		if f.Unheld || f.GivenBack() {
			found.Unheld[name] = struct{}{}
		}
		if f.Held() && f.Read.Offset < f.Growth.Size || f.Read.Open || !f.Records.Empty() {
			found.Unread[name] = struct{}{}
		}
	}
	found.Streams = slices.Collect(maps.Keys(streams))
	return found
}

// Claims reports whether any log in the source has a position past its beginning. Before the
// destination has confirmed the checkpoint, only the checkpoint claims that the lines up to
// that position are durable. The sidecar's own marks do not matter.
func (s *Start) Claims() bool {
	for _, f := range s.table.Files {
		if f.Committed.Offset > 0 && f.Stream.Name != mark.Stream {
			return true
		}
	}
	absent := &s.table.Absent
	for id := range absent.Waiting {
		if k := absent.Saved[id]; k.Offset > 0 && k.Stream != mark.Stream {
			return true
		}
	}
	return false
}

// ForgetCommits forgets all committed positions, because the checkpoint was wrong about the
// positions or about the streams of the files. Records stay. [Start.Rewind] must follow.
func (s *Start) ForgetCommits() {
	s.table.Absent.Clear()
	s.table.OpenLines.Forget()
	s.table.Rename()
	for _, st := range s.table.Streams.ByName {
		s.changes.metrics.appear(st.Label)
	}
	for _, f := range s.table.Files {
		f.Committed = position.Position{}
	}
}

// Rewind forgets everything that was handed on and not committed, so that [Reader.Next]
// hands it on again.
func (s *Start) Rewind() { s.changes.rewindAll() }

// Align finds, without a checkpoint, how far a stream was persisted. It searches the files of
// the stream for end, the end of the persisted copy, and makes reading begin after it. The
// longer end is, the better. If end is not found, everything in the files is read, and Align
// returns false.
func (s *Start) Align(stream string, end []byte) (bool, error) { return s.aligner.align(stream, end) }

// Aligned records that reading begins where persisting ended.
func (s *Start) Aligned() { s.left.aligned() }

// Positions returns the read position of every content that is not at its beginning or has
// records. It also returns the positions of files that may still be found.
func (s *Start) Positions() map[position.Content]position.Saved {
	saved := map[position.Content]position.Saved{}
	absent := &s.table.Absent
	for id := range absent.Waiting {
		k := absent.Saved[id]
		saved[k.Content(id)] = k.Saved
	}
	for of, f := range s.table.Files {
		if f.Read.Offset > 0 || !f.Records.Empty() {
			saved[of] = position.Saved{Stream: f.Stream.Name, Position: f.Read.Position}
		}
	}
	s.table.OpenLines.AddTo(saved, absent.Positions())
	return saved
}
