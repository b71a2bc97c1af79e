package tail

import (
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A Chunk describes bytes that [Source.Next] put into the caller's area: whole
// lines of one source file, a piece of a line over the limit, or what stands in
// the place of records: lines with markers, or one zstd frame.
type Chunk struct {
	File  *File
	End   position.Position    // behind the chunk in the source file
	Lines [ul.NumLevels]uint32 // lines that end in the chunk, by level
	Read  time.Time            // when
	Since time.Time            // when everything written before had been read; the caller of Next sets it

	Made int // bytes of it that are markers of gaps, and not the JVM's

	// Withheld is how many bytes at the end of the chunk are lines below
	// [Config.PersistLevel], in their order; the others stand before them, in theirs.
	Withheld int

	// Frame is the length of the lines if the chunk is not the lines themselves,
	// but one zstd frame of them.
	Frame int

	number uint64 // counts what is handed on
}

// AreaSlack is by how much more than LineLimit the area for Next has to have: for
// two markers, each behind the newline of a line that a gap cut off, for the end
// of a line that was abandoned, and for the byte by which a line is longer than the
// limit.
const AreaSlack = 2*(ul.MaxMarkerBytes+1) + 2

// AreaBytes is the area that the largest record of the spool needs, whatever the
// line limit of the process that made it.
const AreaBytes = spool.BlockBytes + AreaSlack
