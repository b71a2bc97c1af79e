package cat

import (
	"context"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	pollEvery  = 200 * time.Millisecond
	noticeRest = 10 * time.Millisecond // the shortest time from one pass to the next
	maxNoticed = 256                   // directories; more of them are only polled
)

// notice tells a follower at once that something in the directories that it reads has changed. Where the kernel
// has no events (on a network file system, no inotify instance left), only the poll finds what was appended.
type notice struct {
	watcher *fsnotify.Watcher // nil: there are no events
	changed chan struct{}     // holds at most one value, however many events there were
	poll    *time.Ticker
}

func newNotice(every time.Duration) *notice {
	n := &notice{changed: make(chan struct{}, 1), poll: time.NewTicker(every)}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return n
	}
	n.watcher = watcher
	go n.collect()
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
		n.tell()
	}
}

func (n *notice) tell() {
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

// watch watches dirs, and stops watching all others. What was written before a new watch is found by another pass.
func (n *notice) watch(dirs []string) {
	if n.watcher == nil {
		return
	}
	watched := n.watcher.WatchList()
	for _, dir := range watched {
		if !slices.Contains(dirs, dir) {
			_ = n.watcher.Remove(dir) // an error means that the directory is gone, and the watch with it
		}
	}
	for _, dir := range dirs[:min(len(dirs), maxNoticed)] {
		if !slices.Contains(watched, dir) && n.watcher.Add(dir) == nil {
			n.tell()
		}
	}
}

// wait waits for a change or the next poll. The error is that of ctx.
func (n *notice) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(noticeRest):
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-n.changed:
	case <-n.poll.C:
	}
	return nil
}
