package segment

import (
	"os"
	"slices"
)

// followAhead is how many segments one look of a Follower finds at most.
const followAhead = 64

// listing finds the segments that a Follower reads.
type listing struct {
	dir    string // of a stream,
	files  []Info // or else these files, numbered in their order
	sealed bool   // the last of the files has a successor
}

// list returns the oldest segments from first on, whether there are older ones,
// and whether there are more. Of files it also returns those behind first that do
// not exist, so that opening them says why.
func (l *listing) list(first Info) (found []Info, older, more bool, err error) {
	if l.files != nil {
		return l.listFiles(first), false, false, nil
	}
	dir, err := openDir(l.dir)
	if err != nil {
		return nil, false, false, err
	}
	defer dir.Close()
	shrink := func() {
		slices.SortFunc(found, compareInfo)
		if len(found) > followAhead {
			found, more = slices.Delete(found, followAhead, len(found)), true
		}
	}
	err = each(dir, func(info Info) error {
		if compareInfo(info, first) < 0 {
			older = true
			return nil
		}
		if found = append(found, info); len(found) >= 2*followAhead {
			shrink()
		}
		return nil
	})
	shrink()
	return found, older, more, err
}

func (l *listing) listFiles(first Info) []Info {
	var found []Info
	for _, info := range l.files {
		stat, err := os.Stat(info.Path)
		if err == nil {
			info.Size, info.ModTime = stat.Size(), stat.ModTime()
		}
		if order := compareInfo(info, first); order >= 0 && err == nil || order > 0 {
			found = append(found, info)
		}
	}
	return found
}

// indexOf returns where the segment of that name is, or -1.
func indexOf(found []Info, name string) int {
	return slices.IndexFunc(found, func(info Info) bool { return info.Name == name })
}
