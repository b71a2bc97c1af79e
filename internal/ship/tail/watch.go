package tail

import (
	"errors"
	"path/filepath"

	"github.com/fsnotify/fsnotify"

	"github.com/ullage/ullage/internal/ship/source"
)

// A Watcher notices when there is something to scan or read, from events of the directory
// and from a regular poll.
type Watcher struct {
	*env
	dir     *directory
	table   *source.Table
	listing *listing
}

// Events returns the directory's events for [Watcher.Handle] and its errors for
// [Watcher.HandleError]. Both are nil if there is no watcher.
func (w *Watcher) Events() (<-chan fsnotify.Event, <-chan error) {
	if w.dir.watcher == nil {
		return nil, nil
	}
	return w.dir.watcher.Events, w.dir.watcher.Errors
}

// Handle handles one event: it marks what has to be read or scanned. After a burst of new
// names, thousands of events can wait in the kernel. A scan that began after the last
// change of the directory has seen everything that they report, so they do not make another
// scan due.
func (w *Watcher) Handle(ev fsnotify.Event) {
	if ev.Op&^fsnotify.Chmod == 0 {
		return
	}
	dir, name := filepath.Split(ev.Name)
	if w.dir.watched != "" && filepath.Clean(dir) == w.dir.watched {
		if w.to.Watched != nil {
			w.to.Watched()
		}
		return
	}
	if f, known := w.table.Names.Now[name]; known && ev.Op == fsnotify.Write {
		w.table.Touch(f)
		return
	}
	if ev.Op == fsnotify.Write {
		// After a write to a file that is not held, a scan finds nothing new unless the
		// file was set aside. The creation of a file has its own event.
		if len(w.table.Absent.Aside) > 0 && w.cfg.follows(name) && !w.listing.crowded() {
			w.listing.expire()
		}
		return
	}
	w.poll()
}

// Poll marks what has to be read or scanned without any event: the files from which
// [Reader.Next] has read since the last Poll, and the directory if an entry in it has changed.
// While lines flow, a Poll costs two system calls, whereas events would wake up threads several
// times. Poll also sees a rotation at once, even if a thousand events of writes precede the
// rotation's event in the queue.
func (w *Watcher) Poll() {
	w.table.TouchFlowing()
	w.poll()
}

// poll makes a scan due if an entry of the directory was created, removed or renamed, or may
// have been, since the last scan began.
func (w *Watcher) poll() {
	if !w.dir.opened() {
		return
	}
	if changed, err := w.dir.changed(); err != nil || w.listing.outdated(changed) {
		w.listing.expire()
	}
}

// HandleError handles one error of the watcher. If events were lost, everything is checked
// again.
func (w *Watcher) HandleError(err error) {
	w.metrics.watchErrors.Inc()
	w.LookAgain()
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		// messages.md#the-source: Events of the file system may be missing. Polling finds what they
		// would have reported.
		w.log.once("watch error", "source watcher reported an error", "error", err, "hint", "the poll continues")
	}
}

// LookAgain makes the next scan due and marks every file for reading.
func (w *Watcher) LookAgain() {
	w.listing.expire()
	w.table.TouchAll()
}

// tick is the slow poll.
func (w *Watcher) tick() {
	w.listing.expire()
	if w.dir.watcher == nil && w.dir.opened() {
		w.LookAgain()
	}
	for _, f := range w.table.Held {
		if size, _, err := f.Inode.Stat(); err == nil && size != f.Growth.Size {
			w.table.Grow(f, size, w.now())
			continue
		}
		if !f.Growth.Young && (f.Read.Offset < f.Growth.Size || f.Read.Open) {
			w.table.Touch(f) // the rest of the file may be due
		}
		f.Growth.Quiet = !f.Growth.Young
		f.Growth.Young = false
	}
}

// Written reports whether the kernel shows that some process has a file open for writing.
func (w *Watcher) Written() bool {
	for _, f := range w.table.Held {
		if f.Inode.Written() {
			return true
		}
	}
	return false
}
