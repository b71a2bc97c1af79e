package ship

import (
	"os"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/tail"
)

// Outlets are functions through which a [Shipper] reports what it sees, does and makes
// durable. A function that is nil is not called. The zero value has none.
type Outlets struct {
	Source    tail.Outlets
	Followers Followers

	// CaughtUp is called whenever the reader has read everything that it knows to be in the
	// source. It must not block.
	CaughtUp func()

	// Finished is called once in a drain, when everything in the source has been read and nothing
	// writes to it any more. The lines that Finished appends to the source are drained too.
	Finished func()

	// Busy is called with true when much is written, or when files appear and disappear, and with
	// false two seconds after that has ended. Before the first call, the source must be treated as
	// busy. The reader calls Busy and waits for it.
	Busy func(busy bool)

	// Opened is called when the source was opened, before anything in it is read. It is called
	// again if another directory gets the source's name. It must not keep the two directories,
	// which are the source and the sidecar's own directory in it.
	Opened func(source, state *os.File)

	// Room is called with the budget, which the texts of rings share with the spool, and with the bytes that the spool
	// takes. It must not block.
	Room func(budget, spool int64)

	// Destination is called with the directory of the durable copy before it is opened. It is
	// called again once the directory has been opened, because it may not have existed before, and
	// when another directory has taken its place. It may wait for the destination, but not for the
	// writer.
	Destination func(dir string)
}

// destination calls Destination.
func (o *Outlets) destination(dir string) {
	if o.Destination != nil {
		o.Destination(dir)
	}
}

// Followers are functions for parts of this process that read the segments while these are
// being written. The writer calls them; they must not block. The zero value has no
// followers.
type Followers struct {
	// OnCommit is called in three cases: when streams are committed up to marks, before anything
	// is appended to a new stream, and when streams have ended and their segments no longer grow.
	// The first call has every stream that may grow. OnCommit must not keep the map. Nil: there
	// are no followers.
	OnCommit func(marks map[string]segment.Mark, ended []string)

	// OnGap is called with each gap whose marker is appended to a stream. After a failure
	// of the destination, it may be called again for the same gap. Nil: it is not called.
	OnGap func(stream string, gap ul.Gap)

	Needed  func(segment.Info) bool // see [store.Store.KeepFor]
	Deleted func(segment.Info)

	SealAtEnd bool // seal the newest segments once everything is drained
}
