package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/segment"
)

// measured is when measure was called and how long it took.
type measured struct {
	at   time.Time
	took time.Duration
}

// due reports whether to call measure again, if it may find something new. If cursors have moved, it
// is called soon, but not so soon that listing thousands of old streams costs a part of a core.
func (m measured) due(now time.Time, moved bool) bool {
	pause := measureInterval
	if moved {
		pause = min(measureShare*m.took, measureInterval)
	}
	return now.Sub(m.at) >= pause
}

// measure searches the destination for bytes that the sink lacks. The first search finds bytes
// that an earlier process has left undelivered.
func (w *worker) measure() {
	began := time.Now()
	defer func() { w.measured = measured{began, time.Since(began)} }()
	w.stale = false
	streams, err := segment.Streams(w.set.dest)
	if err != nil {
		w.fail(err)
		return
	}
	var backlog int64
	exists := map[string]bool{}
	for _, stream := range streams {
		all, err := segment.List(filepath.Join(w.set.dest, stream))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			w.fail(err)
			return
		}
		exists[stream] = len(all) > 0 || errors.Is(err, fs.ErrPermission)
		left, oldest := w.leftOf(stream, all)
		if backlog += left; left > 0 {
			w.state.mu.Lock()
			w.mark(stream, oldest)
			w.state.mu.Unlock()
		}
	}
	if len(streams) > 0 || w.home == nil {
		w.home, _ = os.Stat(w.set.dest) // if this fails, no cursor is forgotten
	}
	present := w.present()
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	w.state.backlog = backlog
	if !present {
		return
	}
	for stream := range w.state.cursors {
		if !exists[stream] {
			delete(w.state.cursors, stream) // retention deleted the last segment
			w.unsaved = true
		}
	}
}

// present reports whether the destination is the directory that held streams last. If not, its volume
// may be away for a moment, and the streams that it lacks still exist.
func (w *worker) present() bool {
	is, err := os.Stat(w.set.dest)
	return err == nil && w.home != nil && os.SameFile(w.home, is)
}

// leftOf returns how many bytes of these segments the sink has not acknowledged, and the latest
// time at which the oldest of them can have been written.
func (w *worker) leftOf(stream string, all []segment.Info) (bytes int64, oldest time.Time) {
	mark, growing := w.set.committed(stream)
	for _, info := range all {
		if !w.needs(info) {
			continue
		}
		size := info.Size
		if growing && info.Name == mark.Segment {
			size = min(size, mark.Offset)
		}
		w.state.mu.Lock()
		if c := w.state.cursors[stream]; c.Segment == info.Name {
			size -= c.Offset
		}
		w.state.mu.Unlock()
		if bytes += max(size, 0); oldest.IsZero() {
			oldest = info.ModTime
		}
	}
	return bytes, oldest
}

// left returns an error with the number of bytes that the sink lacks, or nil.
func (w *worker) left() error {
	w.measure()
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	if w.state.backlog == 0 {
		return nil
	}
	err := fmt.Errorf("sink %s has not received %d bytes of segments; the next start sends them, if the destination outlives the pod", w.name, w.state.backlog)
	if w.state.failure != nil {
		err = fmt.Errorf("%w: %w", err, w.state.failure)
	}
	return err
}

// status returns the state of the sink. The backlog may be some seconds old.
func (w *worker) status(now time.Time) admin.Sink {
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	s := w.state.counts
	s.Name, s.URL, s.BacklogBytes = w.name, w.url, w.state.backlog
	for _, since := range w.state.behind {
		s.LagSeconds = max(s.LagSeconds, now.Sub(since).Seconds())
	}
	if n, is := w.sink.(Noter); is {
		s.Note = n.Note()
	}
	if w.state.failure != nil {
		s.Failure = w.state.failure.Error()
	}
	return s
}
