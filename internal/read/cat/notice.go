package cat

import (
	"context"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	pollEvery  = 200 * time.Millisecond
	noticeRest = 10 * time.Millisecond // the shortest rest between a change and the pass that prints it
	restShare  = 20                    // the rest as a multiple of the duration of the last pass, at most pollEvery
	maxNoticed = 256                   // the most directories that are watched; the others are only polled
)

// notice reports to a follower at once that something in the directories that it reads has changed. Where the kernel
// reports no events (on a network file system, or if no inotify instance is left), only the poll finds appended lines.
type notice struct {
	watcher *fsnotify.Watcher // nil: there are no events
	changed chan struct{}     // holds at most one value, however many events there were
	poll    *time.Ticker
}

// newNotice returns a notice that polls with the given interval. If events is false, it only polls.
func newNotice(every time.Duration, events bool) *notice {
	n := &notice{changed: make(chan struct{}, 1), poll: time.NewTicker(every)}
	if !events {
		return n
	}
	if watcher, err := fsnotify.NewWatcher(); err == nil {
		n.watcher = watcher
		go n.collect()
	}
	return n
}

// collect empties the kernel's queue, so that one pass answers all events that came before it.
func (n *notice) collect() {
	for {
		select {
		case _, open := <-n.watcher.Events:
			if !open {
				return
			}
		case _, open := <-n.watcher.Errors: // events were lost
			if !open {
				return
			}
		}
		n.report()
	}
}

func (n *notice) report() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// close ends collect.
func (n *notice) close() {
	n.poll.Stop()
	if n.watcher != nil {
		n.watcher.Close()
	}
}

// watch watches the first maxNoticed of dirs, which are sorted, and stops watching all others. Each new
// watch causes another pass, which finds what was written before the watch began.
func (n *notice) watch(dirs []string) {
	if n.watcher == nil {
		return
	}
	dirs = dirs[:min(len(dirs), maxNoticed)]
	watched := n.watcher.WatchList()
	slices.Sort(watched)
	for _, dir := range watched {
		if _, wanted := slices.BinarySearch(dirs, dir); !wanted {
			_ = n.watcher.Remove(dir) // an error means that the directory is gone, and the watch with it
		}
	}
	for _, dir := range dirs {
		if _, known := slices.BinarySearch(watched, dir); known || n.watcher.Add(dir) != nil {
			continue
		}
		if slices.Contains(n.watcher.WatchList(), dir) { // otherwise another path to the same directory is watched
			n.report()
		}
	}
}

// wait waits for a change or the next poll. Then it rests, in proportion to the duration of the last pass: what is
// written at the same time is printed together, and a follower of many streams takes little CPU time from the sidecar
// in its container. The error is that of ctx.
func (n *notice) wait(ctx context.Context, last time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-n.poll.C:
	case <-n.changed:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(max(noticeRest, restShare*last), pollEvery)):
	}
	select {
	case <-n.changed: // the pass that follows answers it
	default:
	}
	return nil
}
