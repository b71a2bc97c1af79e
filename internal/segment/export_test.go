package segment

import "os"

// The tests write with package store, which imports this package. So they are in an external package, and this file
// exports the internals that they need.
const (
	FollowIdle    = followIdle
	FollowAhead   = followAhead
	ForeignWindow = foreignWindow
	ReadFrame     = readFrame
	PlainBytes    = plainBytes
)

var (
	ZstdMagic = zstdMagic
	GzipMagic = gzipMagic
	ErrMagic  = errMagic
)

// Window is how many bytes on disk r can hold.
func (r *Reader) Window() int { return cap(r.in.buf) }

// ReadFrom makes r read from another file and returns the previous file.
func (r *Reader) ReadFrom(file *os.File) (before *os.File) {
	before, r.in.file = r.in.file, file
	return before
}

// IsOpen reports whether f holds a segment open.
func IsOpen(f *Follower) bool { return f.reader != nil }

// OpenFound opens a segment that an earlier look found.
func OpenFound(f *Follower, seg Info) error {
	f.cur = place{seg: seg}
	return f.open()
}

// LookAgain makes the next call of f.Next look for new segments.
func LookAgain(f *Follower) { f.looked = false }

// Strip returns the rest of raw after the bytes of cut and deleted, which a writer appends again. The follower
// remembers the first three bytes of each.
func Strip(cut, deleted string, raw ...string) (left string) {
	past := func(text string) repeated {
		return repeated{int64(len(text)), []byte(text[:min(len(text), 3)])}
	}
	r := repeat{past(cut), past(deleted)}
	for _, text := range raw {
		left += string(r.strip([]byte(text)))
	}
	return left
}
