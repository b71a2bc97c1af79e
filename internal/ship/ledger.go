package ship

import (
	"maps"
	"slices"
	"sync"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/tail"
)

// ledger is what is committed: up to which position of each source file, and
// up to which mark in each stream's segments; and which lines behind it were
// dropped. The writer moves it forward; the reader notes the gaps, and takes
// out the files that it let go of.
type ledger struct {
	mu      sync.Mutex
	lost    bool  // see state
	behind  int64 // ... and so is this: Uncommitted
	streams map[string]segment.Mark
	files   map[position.Identity]tail.Saved
}

func newLedger() *ledger {
	return &ledger{streams: map[string]segment.Mark{}, files: map[position.Identity]tail.Saved{}}
}

// mark notes where a stream's committed segments end. It has to be saved
// before the first append behind it: without it, a restart could not tell
// what was appended and never committed.
func (l *ledger) mark(stream string, m segment.Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams[stream] = m
}

func (l *ledger) markOf(stream string) (m segment.Mark, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok = l.streams[stream]
	return m, ok
}

// commit moves to the given marks and to the ends of the given chunks, the
// last one of each file: both or neither.
func (l *ledger) commit(marks map[string]segment.Mark, last map[*tail.File]tail.Chunk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.streams, marks)
	for f, c := range last {
		saved := l.files[f.Identity()]
		if c.Epoch() < saved.Epoch {
			continue // of what was in the file before it was truncated
		}
		if c.Epoch() > saved.Epoch {
			saved.Gaps = "" // the reader is about to say what they are now
		}
		if c.End.Offset == 0 {
			saved.Gaps = tail.WithoutOrphan(saved.Gaps) // its marker is what the chunk is
		}
		saved.Stream, saved.Position, saved.Epoch = f.Stream().Name(), c.End, c.Epoch()
		l.files[f.Identity()] = saved
	}
}

// meet notes to which stream the file of a chunk belongs, and reports whether
// that is news. The checkpoint has to say so before the first append of the file:
// if somebody then gives the file another stream's name, and the sidecar is
// killed, the restart must cut the uncommitted lines off the first stream.
func (l *ledger) meet(c tail.Chunk) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := c.File.Identity()
	if _, known := l.files[id]; known {
		return false
	}
	l.files[id] = tail.Saved{Stream: c.File.Stream().Name(), Epoch: c.Epoch()}
	return true
}

// setGaps notes the gaps of a file, behind what is committed of it. The
// position is news if the file is, was truncated, or came back; else it may be
// older than what the writer has committed meanwhile.
func (l *ledger) setGaps(id position.Identity, now tail.Saved) {
	l.mu.Lock()
	defer l.mu.Unlock()
	saved, known := l.files[id]
	switch {
	case !known && now.Gaps == "" && now.Position == position.Position{}:
		return
	case !known || saved.Epoch < now.Epoch:
		saved = now
	}
	saved.Gaps = now.Gaps
	l.files[id] = saved
}

// forget takes out files that are gone.
func (l *ledger) forget(ids []position.Identity) {
	if len(ids) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		delete(l.files, id)
	}
}

// replaceFiles sets all positions at once, at a start.
func (l *ledger) replaceFiles(files map[position.Identity]tail.Saved) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = maps.Clone(files)
}

// idleStreams takes out the streams that have no files left if they are more
// than max, and returns their names. Refused ones keep their marks: there may
// be uncommitted bytes behind them.
func (l *ledger) idleStreams(max int, refused map[string]refusal) (idle []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := make(map[string]bool, len(l.streams))
	for _, f := range l.files {
		used[f.Stream] = true
	}
	for name := range l.streams {
		if _, keep := refused[name]; !keep && !used[name] {
			idle = append(idle, name)
		}
	}
	if len(idle) <= max {
		return nil
	}
	for _, name := range idle {
		delete(l.streams, name)
	}
	return idle
}

// state copies the ledger for a checkpoint.
func (l *ledger) state() state {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := state{Lost: l.lost, Uncommitted: l.behind, Streams: make([]streamState, 0, len(l.streams)), Files: make([]fileState, 0, len(l.files))}
	for name, m := range l.streams {
		st.Streams = append(st.Streams, streamState{Name: name, Mark: m})
	}
	for id, f := range l.files {
		st.Files = append(st.Files, fileState{Identity: id, Stream: f.Stream, Position: f.Position, Gaps: f.Gaps})
	}
	return st
}

// load sets the ledger to a checkpoint's state.
func (l *ledger) load(st state) {
	l.loadMarks(st)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range st.Files {
		l.files[f.Identity] = tail.Saved{Stream: f.Stream, Position: f.Position, Gaps: f.Gaps, Anew: f.Anew}
	}
}

// setLost notes whether the checkpoint was lost and nothing is aligned yet.
func (l *ledger) setLost(lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = lost
}

// loadMarks sets the marks to those of a checkpoint, and how much can be behind
// them.
func (l *ledger) loadMarks(st state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.behind = st.Uncommitted
	for _, s := range st.Streams {
		l.streams[s.Name] = s.Mark
	}
}

// uncommitted returns how many bytes there can be behind a mark.
func (l *ledger) uncommitted() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.behind
}

// setUncommitted notes how many bytes there can be behind a mark from now on.
func (l *ledger) setUncommitted(most int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.behind = most
}

// saved copies the files' positions.
func (l *ledger) saved() map[position.Identity]tail.Saved {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.files)
}

func (l *ledger) streamNames() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.streams))
}
