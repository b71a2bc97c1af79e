package tail

import (
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

// Outlets are the functions to which a [Source] passes everything that it sees except
// chunks. The reader calls them. None of them may block, and each may be nil.
type Outlets struct {
	// Line receives each new line as it is read, without its newline, with the label of its
	// stream. If a line is handed on in pieces, Line receives only the first piece. It must
	// not keep the line.
	Line func(stream string, line []byte, class ul.Class)

	// Mark receives events of the source: missed archives, truncated files, crash reports.
	Mark func(mark.Mark)

	// Opened is called when the source is opened for the first time. It receives how the previous
	// owner ended.
	Opened func(statedir.Former)

	// Rings is called after each listing of the source that has found rings of events.
	Rings func()

	// Watched is called when an entry of [Config.Watched] has changed. It may be called
	// several times for one change, and is not called if the kernel delivers no events.
	Watched func()
}
