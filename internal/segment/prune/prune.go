package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// The results for a destination.
const (
	Removed = "removed"
	Would   = "would remove" // in a dry run
	InUse   = "in use"       // a sidecar holds the lock
	Young   = "young"
	Kept    = "kept"    // old, but within KeepBytes
	Foreign = "foreign" // our files are gone, but other files are left
	Failed  = "failed"
)

// Config says what to remove.
type Config struct {
	// OlderThan is the minimum age at which a destination is removed.
	OlderThan time.Duration

	// KeepBytes is how much of the old destinations is kept, the youngest first. A destination
	// that does not fit into the rest of KeepBytes is removed, but older ones that fit are kept.
	// Zero: none is kept.
	KeepBytes settings.Size

	// DryRun removes nothing.
	DryRun bool
}

// Result is the result for one destination.
type Result struct {
	Path   string // relative to the volume
	State  string
	Bytes  int64     // on disk
	Newest time.Time // the last write to any of its files
	Err    error     // why State is Failed; otherwise nil
}

// destination is a directory with a lock.
type destination struct {
	path   string
	bytes  int64
	newest time.Time
	err    error // why the destination, or whatever is at the path, can't be read
}

// result returns the result for a destination, without its state.
func (d *destination) result(now time.Time) Result {
	r := Result{Path: d.path, Bytes: d.bytes, Newest: d.newest}
	if r.Newest.After(now) { // the volume's clock is ahead of this node's
		r.Newest = now
	}
	return r
}

// Run prunes the volume that is mounted at dir, and reports every destination in it and every directory
// that it can't read. It reports young destinations and unreadable directories during the search, and
// then the old destinations, the oldest last. Only old destinations are held in memory. The error
// concerns the whole volume or is that of ctx.
func Run(ctx context.Context, dir string, cfg Config, now time.Time, report func(Result)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err // its text names the path
	}
	defer root.Close()
	if err := checkLocks(root); err != nil {
		return err
	}
	var old []destination
	s := search{ctx: ctx, found: func(d destination) {
		r := d.result(now)
		switch {
		case d.err != nil:
			r.State, r.Err = Failed, d.err
		case now.Sub(d.newest) <= cfg.OlderThan:
			r.State = Young
		default:
			old = append(old, d)
			return
		}
		report(r)
	}}
	if err := s.find(root, ".", 0, false); err != nil {
		return err
	}
	slices.SortFunc(old, func(a, b destination) int {
		return cmp.Or(b.newest.Compare(a.newest), cmp.Compare(a.path, b.path))
	})
	kept := int64(0)
	for _, d := range old {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := d.result(now)
		if kept+d.bytes <= int64(cfg.KeepBytes) {
			kept += d.bytes
			r.State = Kept
		} else { // its size does not affect older destinations
			r.State, r.Err = remove(ctx, root, d, cfg.DryRun)
		}
		report(r)
	}
	return nil
}

// remove removes a destination under its lock.
func remove(ctx context.Context, root *os.Root, d destination, dryRun bool) (state string, err error) {
	parent, err := open(root, path.Dir(d.path))
	if err != nil {
		return Failed, err
	}
	defer parent.Close()
	dest, err := sub(parent, path.Base(d.path))
	if err != nil {
		return Failed, err
	}
	defer dest.Close()
	own, err := sub(dest, segment.OwnDir)
	if err != nil {
		return Failed, err
	}
	defer own.Close()
	lock, err := own.OpenFile(segment.LockName, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return Failed, fmt.Errorf("open the lock: %w", err)
	}
	defer lock.Close() // and with it the lock
	switch err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return InUse, nil
	case err != nil:
		return Failed, fmt.Errorf("take the lock, which shows whether a sidecar is running: %w", err)
	}
	if err := isIn(own, segment.LockName, lock.Stat); err != nil {
		return Failed, err
	}
	again := destination{path: d.path}
	if err := again.measure(dest); err != nil {
		return Failed, err
	}
	if !again.newest.Equal(d.newest) {
		return Young, nil
	}
	if dryRun {
		return Would, nil
	}
	return d.delete(ctx, parent, dest, own)
}
