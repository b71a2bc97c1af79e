package tail

import "github.com/ullage/ullage/internal/ship/source"

// A hole is the extent of a hole in a file, at or after the read position.
type hole struct {
	found bool
	data  int64 // the end of the hole if it begins at the read position; otherwise 0
	at    int64 // the beginning of the hole if it is after the read position
}

// findHole finds out whether the NUL bytes among the n bytes at the read position are a hole.
// No process has written the bytes of a hole, so reading skips it.
func findHole(f *source.File, n int) (hole, error) {
	start := f.Read.Offset
	data, err := f.Inode.NextData(start)
	if err != nil {
		return hole{}, f.Failed("look for data in", err)
	}
	if r := f.Records.Next(start); r != nil {
		data = min(data, r.From) // the punched block of the record is also a hole
	}
	if data > start {
		return hole{found: true, data: data}, nil
	}
	at, err := f.Inode.NextHole(start)
	if err != nil {
		return hole{}, f.Failed("look for a hole in", err)
	}
	f.Read.HoleFreeTo = at
	return hole{found: at < start+int64(n), at: at}, nil
}
