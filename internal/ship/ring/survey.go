package ring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
)

// Surveyed is a ring as its file shows it, whether or not a sidecar reads it. Sizes are in bytes.
type Surveyed struct {
	Name     string         // of the file
	PID      int64          // process ID, as the JVM sees it
	Capacity int64          // 0 if there is a Problem
	Used     int64          // claimed, and not returned
	Refused  uint64         // events refused since the start of the JVM
	Raised   loggers.Levels // levels that are wanted in spite of the JVM's own settings
	Problem  string         // why the file could not be read
}

// Survey returns the rings in a source, ordered by the start of their JVMs. It changes nothing. A missing source has
// no rings. If there are more than 1,024 rings, Survey returns only 1,024 of them.
func Survey(source string) ([]Surveyed, error) {
	dir, err := os.Open(source)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for rings: %w", err)
	}
	defer dir.Close()
	var found []name
	eachName(dir, func(file string) {
		if n, ok := parseName(file, ringSuffix); ok && len(found) < maxFound {
			found = append(found, n)
		}
	})
	slices.SortFunc(found, name.compare)
	all := make([]Surveyed, 0, len(found))
	for _, n := range found {
		one := Surveyed{Name: n.ring()}
		if err := one.read(int(dir.Fd())); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // the ring no longer exists
			}
			one.Problem = err.Error()
		}
		all = append(all, one)
	}
	return all, nil
}

func (s *Surveyed) read(dir int) error {
	f, err := openFile(&calls{}, dir, s.Name)
	if err != nil {
		return err
	}
	defer f.close()
	c, err := f.control()
	if err != nil {
		return err
	}
	refused := ul.Gap{Lines: c.dropped.lines}
	s.PID, s.Capacity, s.Refused = f.pid, int64(f.capacity), refused.Total()
	if used := c.tail - c.head; used <= f.capacity {
		s.Used = int64(used)
	}
	s.Raised = f.raised.levels
	return nil
}
