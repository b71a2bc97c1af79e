package tail

// A hole is where a file has one, at or behind the read position.
type hole struct {
	found bool
	data  int64 // behind the hole, if it begins at the read position; or 0
	at    int64 // where it begins otherwise
}

// findHole looks whether the NUL bytes among the n at the read position are a
// hole. Nobody wrote a hole: it is stepped over.
func findHole(f *File, n int) (hole, error) {
	start := f.read.Offset
	data, err := f.inode.nextData(start)
	if err != nil {
		return hole{}, f.failed("look for data in", err)
	}
	if r := f.records.next(start); r != nil {
		data = min(data, r.From) // what the record stands for is a hole as well
	}
	if data > start {
		return hole{found: true, data: data}, nil
	}
	at, err := f.inode.nextHole(start)
	if err != nil {
		return hole{}, f.failed("look for a hole in", err)
	}
	f.read.holeFreeTo = at
	return hole{found: at < start+int64(n), at: at}, nil
}
