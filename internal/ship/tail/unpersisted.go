package tail

import "time"

// Unpersisted is what the durable copy does not show yet of what is in the source. An
// unterminated last line, which its JVM may still be writing, is not part of it. The zero
// value says that the copy has everything.
type Unpersisted struct {
	Bytes   int64     // of lines on the tmpfs that are not durable
	Dropped int64     // lines dropped at places whose marker is not durable
	Since   time.Time // everything that the source had then is durable; zero: all of it is
}

// add adds what the durable copy does not show of something else.
func (u *Unpersisted) add(o Unpersisted) {
	u.Bytes += o.Bytes
	u.Dropped += o.Dropped
	if u.Since.IsZero() || !o.Since.IsZero() && o.Since.Before(u.Since) {
		u.Since = o.Since
	}
}

// awaited is a place of a content, and when it was first known that all lines before it
// have to become durable. The next place is taken once the last one is durable, so that
// the time follows a content that always has something to commit.
type awaited struct {
	to    int64
	since time.Time // zero: nothing is awaited
}

// unpersisted returns what the durable copy does not show of the content.
func (f *File) unpersisted(now time.Time) Unpersisted {
	if !f.waits() {
		f.awaited = awaited{}
		return Unpersisted{}
	}
	if f.awaited.since.IsZero() || f.committed.Offset >= f.awaited.to {
		to := f.read.Offset
		if r := f.records.last(); r != nil {
			to = max(to, r.End.Offset)
		}
		if f.held() {
			to = max(to, f.size)
		}
		f.awaited = awaited{to, now}
	}
	return Unpersisted{Bytes: f.backlog(), Dropped: f.records.lostLines, Since: f.awaited.since}
}

// waits reports whether the content has lines, or dropped ones, that the durable copy
// does not show. A file that is not dirty was read as far as it has whole lines.
func (f *File) waits() bool {
	return f.committed != f.queued || !f.records.empty() || f.held() && f.dirty && f.read.Offset < f.size
}

// unpersisted returns what the durable copy does not show of the stream.
func (st *Stream) unpersisted(now time.Time) (u Unpersisted) {
	for _, files := range [][]*File{st.files, st.found} {
		for _, f := range files {
			u.add(f.unpersisted(now))
		}
	}
	return u
}
