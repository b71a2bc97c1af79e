package source

import "time"

// Unpersisted is what the durable copy does not show yet of what is in the source. An
// unterminated last line, which its JVM may still be writing, is not part of it. The zero
// value says that the copy has everything.
type Unpersisted struct {
	Bytes   int64     // of lines on the tmpfs that are not durable
	Dropped int64     // lines dropped at places whose marker is not durable
	Since   time.Time // everything that the source had then is durable; zero: all of it is
}

// Add adds what the durable copy does not show of something else.
func (u *Unpersisted) Add(o Unpersisted) {
	u.Bytes += o.Bytes
	u.Dropped += o.Dropped
	if u.Since.IsZero() || !o.Since.IsZero() && o.Since.Before(u.Since) {
		u.Since = o.Since
	}
}

// unpersisted returns what the durable copy does not show of the content.
func (f *File) unpersisted(now time.Time) Unpersisted {
	if !f.waits() {
		f.awaited = awaited{}
		return Unpersisted{}
	}
	if f.awaited.since.IsZero() || f.Committed.Offset >= f.awaited.to {
		to := f.Read.Offset
		if r := f.Records.Last(); r != nil {
			to = max(to, r.End.Offset)
		}
		if f.Held() {
			to = max(to, f.Growth.Size)
		}
		f.awaited = awaited{to, now}
	}
	return Unpersisted{Bytes: f.Backlog(), Dropped: f.Records.lostLines, Since: f.awaited.since}
}

// waits reports whether the content has lines, or dropped ones, that the durable copy
// does not show. A file that is not dirty was read as far as it has whole lines.
func (f *File) waits() bool {
	return f.Committed != f.Queued || !f.Records.Empty() || f.Held() && f.Growth.Dirty && f.Read.Offset < f.Growth.Size
}

// Unpersisted returns what the durable copy does not show of the stream.
func (st *Stream) Unpersisted(now time.Time) (u Unpersisted) {
	for _, files := range [][]*File{st.Files, st.Found} {
		for _, f := range files {
			u.Add(f.unpersisted(now))
		}
	}
	return u
}
