package tail

import (
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

// Outlets are functions through which a [Source] passes on what it sees, other than
// chunks. The reader calls them. None of them may block, and each may be nil.
type Outlets struct {
	// Line receives each new line, without its newline, as it is read, with the label of
	// its stream. If a line is handed on in pieces, Line receives only the first. It must
	// not keep the line.
	Line func(stream string, line []byte, class ul.Class)

	// Mark receives events of the source: missed archives, truncated files, reports of
	// crashes.
	Mark func(mark.Mark)

	// Opened is called when the source is open for the first time, with how its former
	// owner ended.
	Opened func(statedir.Former)

	// Rings is called whenever the source is listed and has rings of events in it.
	Rings func()

	// Watched is called when an entry of [Config.Watched] has changed, often several times for
	// one change, and not at all if the kernel gives no events.
	Watched func()
}
