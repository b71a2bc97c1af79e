package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	Kept    = "kept"    // it is old, and is within KeepBytes
	Foreign = "foreign" // there are files that are none of ours; ours are gone
	Failed  = "failed"
)

// Config says what to remove.
type Config struct {
	// OlderThan is the minimum age at which a destination is removed.
	OlderThan time.Duration

	// KeepBytes is how much of the old destinations stays. The youngest are kept
	// first. A destination larger than the rest of KeepBytes goes, and older ones
	// that fit stay. Zero: none stays.
	KeepBytes settings.Size

	// DryRun removes nothing.
	DryRun bool
}

// Result is the result for one destination.
type Result struct {
	Path   string // below the volume's
	State  string
	Bytes  int64     // on disk
	Newest time.Time // the last write to any of its files
	Err    error     // of Failed
}

// destination is a directory with a lock.
type destination struct {
	path   string
	bytes  int64
	newest time.Time
	err    error // it, or what is at the path instead, can't be read
}

// Run prunes the volume that is mounted at dir, and reports every destination in
// it, the oldest last, and every directory that it can't read. An error concerns
// the volume as a whole, or is that of ctx.
func Run(ctx context.Context, dir string, cfg Config, now time.Time, report func(Result)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err // its text names the path
	}
	defer root.Close()
	if err := checkLocks(root); err != nil {
		return err
	}
	found, err := find(ctx, root, ".", 0)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b destination) int {
		return cmp.Or(b.newest.Compare(a.newest), cmp.Compare(a.path, b.path))
	})
	kept := int64(0)
	for _, d := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := Result{Path: d.path, Bytes: d.bytes, Newest: d.newest}
		if r.Newest.After(now) { // the volume's clock is ahead of this node's
			r.Newest = now
		}
		switch {
		case d.err != nil:
			r.State, r.Err = Failed, d.err
		case now.Sub(d.newest) <= cfg.OlderThan:
			r.State = Young
		case kept+d.bytes <= int64(cfg.KeepBytes):
			kept += d.bytes
			r.State = Kept
		default: // it goes alone: how large it is decides nothing about older ones
			r.State, r.Err = remove(ctx, root, d, cfg.DryRun)
		}
		report(r)
	}
	return nil
}

// maxDepth is that of NAMESPACE/POD/CONTAINER.
const maxDepth = 3

// find returns the destinations in a directory, and those below. A destination may
// hold others: a pod with one JVM has had its copy where a later one, with two, has
// those of both. An error concerns the volume's own directory, or is that of ctx.
func find(ctx context.Context, dir *os.Root, at string, depth int) ([]destination, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	locked := false
	err := in(dir, segment.OwnDir, func(own *os.Root) error {
		info, err := own.Lstat(segment.LockName)
		locked = err == nil && info.Mode().IsRegular()
		return nil
	})
	var all []destination
	if locked {
		d := destination{path: at}
		d.err = d.measure(dir)
		all = append(all, d)
	} else if errors.Is(err, fs.ErrPermission) && depth > 0 {
		return []destination{{path: at, err: err}}, nil
	}
	if depth == maxDepth {
		return all, nil
	}
	below, err := findBelow(ctx, dir, at, depth)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case locked: // measure has met what can't be read
		below = slices.DeleteFunc(below, func(d destination) bool { return d.err != nil && d.newest.IsZero() })
	case err != nil && depth == 0:
		return nil, err
	case err != nil:
		return []destination{{path: at, err: err}}, nil
	}
	return append(all, below...), nil
}

// findBelow returns the destinations below a directory. The error is that of
// reading it.
func findBelow(ctx context.Context, dir *os.Root, at string, depth int) ([]destination, error) {
	var all []destination
	err := each(dir, func(e fs.DirEntry) error {
		if !e.IsDir() || e.Name() == segment.OwnDir || depth == 0 && e.Name() == segment.LostFound {
			return nil
		}
		below := path.Join(at, e.Name())
		err := in(dir, e.Name(), func(dir *os.Root) error {
			some, err := find(ctx, dir, below, depth+1)
			all = append(all, some...)
			return err
		})
		if err != nil {
			all = append(all, destination{path: below, err: err})
		}
		return nil
	})
	return all, err
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
		return Failed, fmt.Errorf("take the lock, without which it is unknown whether a sidecar is at work: %w", err)
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
