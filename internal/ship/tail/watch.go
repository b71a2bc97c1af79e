package tail

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ullage/ullage/internal/ship/source"
)

const (
	measureRest = 100 * time.Microsecond // the shortest pause after a measurement, for each file: an fstat takes about 1 µs
	resumeRest  = time.Second            // the pause after a watch that the kernel refused
)

// A Watcher notices when there is something to scan or read, from events of the directory
// and from a regular poll.
type Watcher struct {
	*env
	dir     *directory
	table   *source.Table
	listing *listing

	measurable time.Time // when the files may be measured again while the watch is suspended
	resumable  time.Time // when a suspended watch may be asked for again
}

// begin starts watching the source. Without a watch, the poll finds everything.
func (w *Watcher) begin() { w.watches(w.dir.watch()) }

// watches records whether the kernel accepted the watch.
func (w *Watcher) watches(err error) {
	if err == nil {
		w.metrics.watching.Set(1)
		return
	}
	w.metrics.watching.Set(0)
	// messages.md#the-source: The kernel is out of inotify instances or watches: raise
	// `fs.inotify.max_user_instances` or `max_user_watches`. Until then ullage only polls, and
	// may miss archives of a JVM that rotates often.
	w.log.once("watch", "watching the source failed", "source", w.cfg.Source, "error", err,
		"hint", "the source is polled only; raise fs.inotify.max_user_instances or max_user_watches")
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

// Suspend stops the events of the source's files until [Watcher.Resume]: from now on, only Poll
// and [Source.Tick] notice anything. For each write(2) to a file in a watched directory, the
// kernel makes an event, on which the JVM's thread spends about as much time as on the write.
// Suspend does nothing if there is no watch, or if only an event shows a write in time.
func (w *Watcher) Suspend() {
	if w.dir.watcher != nil && !w.dir.suspended && !w.needsEvents() {
		w.dir.suspend() // this also discards the events that wait
		w.measurable = time.Time{}
	}
}

// needsEvents reports whether Poll may miss a write: Poll does not look at files that are not held.
func (w *Watcher) needsEvents() bool { return len(w.table.Absent.Aside) > 0 }

// Suspended reports whether Suspend has stopped the events.
func (w *Watcher) Suspended() bool { return w.dir.suspended }

// Resume ends the suspension of the watch. If the kernel refuses, the watch stays suspended;
// Resume may be called again and asks the kernel at most once a second. Resume looks at everything
// only after the watch has begun, so each write is either seen by that look or makes an event.
func (w *Watcher) Resume() {
	if !w.dir.suspended || w.now().Before(w.resumable) {
		return
	}
	err := w.dir.resume()
	if err != nil {
		w.resumable = w.now().Add(resumeRest)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return // CloseGone will close the directory
	}
	if w.watches(err); err == nil {
		w.measure()
		w.poll()
	}
}

// Poll marks what has to be read or scanned without any event: the files from which
// [Reader.Next] has read since the last Poll, and the directory if an entry in it has changed.
// While lines flow, a Poll costs two system calls, whereas events would wake up threads several
// times. Poll also sees a rotation at once, even if a thousand events of writes precede the
// rotation's event in the queue. While the watch is suspended, Poll also looks for other files
// that have grown, or leaves that to a later Poll if there are very many.
func (w *Watcher) Poll() {
	w.table.TouchFlowing()
	if w.dir.suspended && !w.now().Before(w.measurable) {
		w.measure()
	}
	w.poll()
}

// measure marks the files that have grown.
func (w *Watcher) measure() {
	for _, f := range w.table.Held {
		w.grown(f)
	}
	// The pause does not depend on how long measuring took, in elapsed or in CPU time. On a busy
	// machine, this goroutine may have waited for a processor and continued in another thread, which
	// has its own CPU time. A pause based on either could be so long that nothing is read for a long time.
	w.measurable = w.now().Add(measureRest * time.Duration(len(w.table.Held)))
}

// grown reports whether the size of f has changed. Such a file is marked for reading.
func (w *Watcher) grown(f *source.File) bool {
	size, _, err := f.Inode.Stat()
	if err != nil || size == f.Growth.Size {
		return false
	}
	w.table.Grow(f, size, w.now())
	return true
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
	if w.needsEvents() {
		w.Resume()
	}
	w.listing.expire()
	if w.dir.watcher == nil && w.dir.opened() {
		w.LookAgain()
	}
	for _, f := range w.table.Held {
		if w.grown(f) {
			continue
		}
		if !f.Growth.Young && (f.Read.Offset < f.Growth.Size || f.Read.Open) {
			w.table.Touch(f) // the rest of the file may be due
		}
		f.Growth.Quiet = !f.Growth.Young
		f.Growth.Young = false
	}
}
