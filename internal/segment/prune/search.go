package prune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/ullage/ullage/internal/segment"
)

const (
	// maxDepth is the depth of NAMESPACE/POD/CONTAINER, and podDepth that of NAMESPACE/POD.
	maxDepth = 3
	podDepth = 2

	// maxInPod bounds the destinations in the directory of one pod: its tenant can create any number,
	// and old ones are held in memory. A later run finds the others once these are removed.
	maxInPod = 256
)

// search finds the destinations of a volume.
type search struct {
	ctx   context.Context
	found func(destination)
	count int // number of destinations and of directories that can't be read
}

// find finds the destination at a directory and the destinations below it. A destination may
// hold others: the directory with the copy of a pod with one JVM also holds the two copies of a
// later pod with two JVMs. within means that the directory is in a destination, whose measure
// has already reported what can't be read. The error concerns the volume's own directory, or is
// that of ctx.
func (s *search) find(dir *os.Root, at string, depth int, within bool) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	locked := false
	err := in(dir, segment.OwnDir, func(own *os.Root) error {
		info, err := own.Lstat(segment.LockName)
		locked = err == nil && info.Mode().IsRegular()
		return nil
	})
	if locked {
		d := destination{path: at}
		d.err = d.measure(dir)
		s.add(d, within)
	} else if errors.Is(err, fs.ErrPermission) && depth > 0 {
		s.add(destination{path: at, err: err}, within)
		return nil
	}
	if depth == maxDepth {
		return nil
	}
	err = s.findBelow(dir, at, depth, within || locked)
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case err == nil, locked:
	case depth == 0:
		return err
	default:
		s.add(destination{path: at, err: err}, within)
	}
	return nil
}

// findBelow finds the destinations below a directory. Its error is an error of reading the
// directory.
func (s *search) findBelow(dir *os.Root, at string, depth int, within bool) error {
	before := s.count
	err := each(dir, func(e fs.DirEntry) error {
		if !e.IsDir() || e.Name() == segment.OwnDir || depth == 0 && e.Name() == segment.LostFound {
			return nil
		}
		if depth == podDepth && s.count-before >= maxInPod {
			s.add(destination{path: at, err: fmt.Errorf("it has more than %d container directories: the rest is left for a later run", maxInPod)}, false)
			return fs.SkipAll
		}
		below := path.Join(at, e.Name())
		err := in(dir, e.Name(), func(dir *os.Root) error { return s.find(dir, below, depth+1, within) })
		if err != nil && s.ctx.Err() == nil {
			s.add(destination{path: below, err: err}, within)
		}
		return s.ctx.Err()
	})
	if err == fs.SkipAll {
		return nil
	}
	return err
}

// add reports a destination or a directory that can't be read, unless an enclosing destination
// has already reported that.
func (s *search) add(d destination, within bool) {
	if within && d.err != nil && d.newest.IsZero() {
		return
	}
	s.count++
	s.found(d)
}
