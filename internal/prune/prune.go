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

	"github.com/ullage/ullage/internal/settings"
)

// What becomes of a destination.
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
	// OlderThan is the age from which on a destination is removed.
	OlderThan time.Duration

	// KeepBytes is how much of the old destinations stays, the youngest of them.
	// Zero: none.
	KeepBytes settings.Size

	// DryRun removes nothing.
	DryRun bool
}

// Result is what became of one destination.
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
}

// Run prunes the volume that is mounted at dir, and reports every destination in
// it, the oldest last. An error is of the volume as a whole, or that of ctx.
func Run(ctx context.Context, dir string, cfg Config, now time.Time, report func(Result)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	defer root.Close()
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
		switch {
		case now.Sub(d.newest) <= cfg.OlderThan:
			r.State = Young
		case kept+d.bytes <= int64(cfg.KeepBytes):
			kept += d.bytes
			r.State = Kept
		default:
			kept = int64(cfg.KeepBytes) // what is older than one that goes, goes
			r.State, r.Err = remove(root, d, cfg.DryRun)
		}
		report(r)
	}
	return nil
}

// maxDepth is that of NAMESPACE/POD/CONTAINER.
const maxDepth = 3

// find returns the destinations in a directory, and those below.
func find(ctx context.Context, root *os.Root, dir string, depth int) ([]destination, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if info, err := root.Lstat(path.Join(dir, lockPath)); err == nil && info.Mode().IsRegular() {
		d := destination{path: dir}
		return []destination{d}, d.measure(root)
	}
	if depth == maxDepth {
		return nil, nil
	}
	entries, err := readDir(root, dir)
	if err != nil {
		return nil, err
	}
	var all []destination
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		some, err := find(ctx, root, path.Join(dir, e.Name()), depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// remove removes a destination under its lock.
func remove(root *os.Root, d destination, dryRun bool) (state string, err error) {
	lock, err := root.OpenFile(path.Join(d.path, lockPath), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Failed, fmt.Errorf("open the lock: %w", err)
	}
	defer lock.Close() // and with it the lock
	switch err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return InUse, nil
	case err != nil:
		return Failed, fmt.Errorf("take the lock, without which nobody knows whether a sidecar is at work: %w", err)
	}
	again := destination{path: d.path}
	if err := again.measure(root); err != nil {
		return Failed, err
	}
	if !again.newest.Equal(d.newest) {
		return Young, nil
	}
	if dryRun {
		return Would, nil
	}
	return d.delete(root)
}

// readDir reads a directory, and none through a link. One that is gone is empty.
func readDir(root *os.Root, dir string) ([]fs.DirEntry, error) {
	f, err := root.OpenFile(dir, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the volume: %w", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("read the volume: %w", err)
	}
	return entries, nil
}
