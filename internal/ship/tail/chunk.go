package tail

import (
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A Chunk describes bytes that [Reader.Next] put into the caller's area: whole lines of one
// source file, a piece of a line over the limit, or the content of records. The content of
// records is lines with markers, or one zstd frame.
type Chunk struct {
	File  File
	End   position.Position    // after the chunk in the source file
	Lines [ul.NumLevels]uint32 // lines that end in the chunk, by level
	Read  time.Time            // when it was read
	Since time.Time            // everything that was written before this time had been read; the caller of Next sets it

	Made int // bytes of gap markers in the chunk, which are not from the JVM

	// Withheld is how many bytes at the end of the chunk are lines below [Config.PersistLevel].
	// All other lines precede them. Both groups are in their original order.
	Withheld int

	// Frame is the length of the lines if the chunk is not the lines themselves but one
	// zstd frame with them. Otherwise it is zero.
	Frame int

	number uint64 // its number in the order in which chunks are handed on
}

// AreaSlack is how much larger than LineLimit the area for Next must be. It is room for two
// markers, each with a newline before it to end a line that a gap cut off. It is also room for the
// newline of an abandoned line, and for one byte that shows whether a line exceeds the limit.
const AreaSlack = 2*(ul.MaxMarkerBytes+1) + 2

// AreaBytes is the size of the area that the largest record of the spool needs, whatever
// line limit the process that made the record had.
const AreaBytes = spool.BlockBytes + AreaSlack

// A File is the source file of a chunk, as other packages see it: they can compare and
// describe it.
type File struct{ is *source.File }

// Content returns the identity and the epoch of the file's content.
func (f File) Content() position.Content { return f.is.Of }

// Stream returns the name of the output: "gc.log".
func (f File) Stream() string { return f.is.Stream.Name }

// Label returns the value of the metrics label for the stream: the stream's name, or
// [OtherLabel] for streams beyond the bound.
func (f File) Label() string { return f.is.Stream.Label }

// Whole reports whether no line of the stream is withheld, whatever its level: it holds
// marks, or files of a JVM other than logs.
func (f File) Whole() bool { return f.is.Stream.Whole }

// OtherLabel is the stream label of the streams beyond the bound on labels.
const OtherLabel = source.OtherLabel

var newline = []byte{'\n'}
