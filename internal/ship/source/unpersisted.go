package source

import (
	"time"

	"github.com/ullage/ullage/internal/base/admin"
)

// unpersisted returns how much of the content is not in the durable copy.
func (f *File) unpersisted(now time.Time) admin.Unpersisted {
	if !f.waits() {
		f.awaited = awaited{}
		return admin.Unpersisted{}
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
	return admin.Unpersisted{Bytes: f.Backlog(), DroppedLines: f.Records.lostLines, Since: f.awaited.since}
}

// waits reports whether the content has lines, or dropped lines, that the durable copy does
// not show yet. A file that is not dirty was read to the end of its last whole line.
func (f *File) waits() bool {
	return f.Committed != f.Queued || !f.Records.Empty() || f.Held() && f.Growth.Dirty && f.Read.Offset < f.Growth.Size
}

// Unpersisted returns how much of the stream is not in the durable copy.
func (st *Stream) Unpersisted(now time.Time) (u admin.Unpersisted) {
	for _, files := range [][]*File{st.Files, st.Found} {
		for _, f := range files {
			u.Add(f.unpersisted(now))
		}
	}
	return u
}
