package tail

import "github.com/ullage/ullage/internal/ship/source"

// A hole is where a file has one, at or after the read position.
type hole struct {
	found bool
	data  int64 // after the hole, if it begins at the read position; or 0
	at    int64 // where it begins otherwise
}

// findHole looks whether the NUL bytes among the n at the read position are a
// hole. A hole was not written: it is stepped over.
func findHole(f *source.File, n int) (hole, error) {
	start := f.Read.Offset
	data, err := f.Inode.NextData(start)
	if err != nil {
		return hole{}, f.Failed("look for data in", err)
	}
	if r := f.Records.Next(start); r != nil {
		data = min(data, r.From) // what the record stands for is a hole as well
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
