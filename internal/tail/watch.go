package tail

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// A watch notices that there is something to scan or to read: by events of the
// directory, and by looking from time to time.
type watch struct {
	*env
	dir      *directory
	contents *contents
	listing  *listing

	changed unix.Timespec // when an entry of the directory last changed, as of the last poll
}

// handle handles one event: it marks what has to be read or scanned.
func (w *watch) handle(ev fsnotify.Event) {
	if ev.Op&^fsnotify.Chmod == 0 {
		return
	}
	name := filepath.Base(ev.Name)
	if f, known := w.contents.names.now[name]; known && ev.Op == fsnotify.Write {
		w.contents.touch(f)
		return
	}
	if ev.Op == fsnotify.Write && isRing(name) {
		return // this process gives memory of it back, some hundred times a second
	}
	if ev.Op == fsnotify.Write && w.listing.crowded() {
		return // the file waits for room: its creation made a scan due, and each poll does
	}
	w.listing.expire()
}

// mtimeStep is longer than the step of the clock that a file system takes times
// from, which is that of the kernel's tick.
const mtimeStep = 20 * time.Millisecond

// poll makes a scan due if an entry of the directory has come, gone or got another
// name since the last poll, or so recently that a later change may have the same time.
func (w *watch) poll() {
	if !w.dir.opened() {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstat(w.dir.fd(), &st); err != nil {
		return // the tick will see it
	}
	age := w.now().Sub(time.Unix(st.Mtim.Unix()))
	if st.Mtim != w.changed || age >= 0 && age < mtimeStep {
		w.changed = st.Mtim
		w.listing.expire()
	}
}

// handleError handles one error of the watcher. When events were lost,
// everything is looked at again.
func (w *watch) handleError(err error) {
	w.metrics.watchErrors.Inc()
	w.lookAgain()
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		w.log.once("watch error", "source watcher reported an error", "error", err, "hint", "the poll continues")
	}
}

// lookAgain makes the next scan due and every file worth reading.
func (w *watch) lookAgain() {
	w.listing.expire()
	w.contents.touchAll()
}

// tick is the slow poll.
func (w *watch) tick() {
	w.listing.expire()
	if w.dir.watcher == nil && w.dir.opened() {
		w.lookAgain()
	}
	for _, f := range w.contents.held {
		if size, _, err := f.inode.stat(); err == nil && size != f.size {
			w.contents.grow(f, size)
			continue
		}
		if !f.young && (f.read.Offset < f.size || f.read.Open) {
			w.contents.touch(f) // its rest may be due
		}
		f.quiet = !f.young
		f.young = false
	}
}

// written reports whether anybody has a file open for writing.
func (w *watch) written() bool {
	for _, f := range w.contents.held {
		if f.inode.writers() == writersSome {
			return true
		}
	}
	return false
}
