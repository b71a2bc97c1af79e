package segment

import "os"

// What the tests need of the inside, since they are outside: they write with a store,
// which imports this package.
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

// ReadFrom makes r read from another file and returns the one before.
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

// LookAgain makes the next call of f.Next look for segments.
func LookAgain(f *Follower) { f.looked = false }

// Strip returns what is left of raw where cut and deleted are appended again. Of each, the
// first three bytes are remembered.
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
