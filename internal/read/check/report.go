package check

import (
	"time"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/owner"
)

// Counts holds the counts of a run or of a stream.
type Counts struct {
	// First and Last are the earliest and the latest time of a line. They are zero if there are no
	// lines. Estimated means that no line has a date.
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	Estimated bool      `json:"estimated,omitempty"`

	Lines  uint64 `json:"lines"`
	Levels Levels `json:"levels,omitzero"` // of these lines

	Gaps       uint64 `json:"gaps,omitempty"`         // places where the sidecar dropped lines
	Dropped    Reason `json:"dropped,omitzero"`       // the lines dropped at these places
	JVMDropped uint64 `json:"jvmDropped,omitempty"`   // lines that the JVM dropped and reported (-Xlog:async)
	JVMCuts    uint64 `json:"jvmCuts,omitempty"`      // places where the JVM lost lines on a full tmpfs, see ul.Cuts
	GapBytes   uint64 `json:"droppedBytes,omitempty"` // the bytes of the lines in Dropped

	Shortened uint64 `json:"shortened,omitempty"` // records of an application that were too long, see ul.AppendShortened

	// JVMCutSeconds is the total time for which the JVM's log has no lines at the places of JVMCuts.
	JVMCutSeconds float64 `json:"jvmCutSeconds,omitempty"`
}

// Levels holds numbers of lines, by level.
type Levels [ul.NumLevels]uint64

// Reason holds numbers of dropped lines, by reason and level.
type Reason [ul.NumReasons]Levels

// Total returns the number of lines of all levels.
func (l Levels) Total() (n uint64) {
	for _, of := range l {
		n += of
	}
	return n
}

// Run is one run of a JVM in one stream. A stream without uptimes has a single run.
type Run struct {
	Stream string `json:"stream"`
	Run    int    `json:"run"` // counted from 1 in the part of the stream that was read
	Counts
}

// Stream is the result for one stream.
type Stream struct {
	Stream string `json:"stream"`
	Runs   int    `json:"runs"`
	Counts

	// Reaches is when the oldest segment was begun. Cut means that retention has deleted older
	// segments.
	Reaches time.Time `json:"reaches,omitzero"`
	Cut     bool      `json:"cut,omitempty"`

	// Short means that the window begins in a part that retention has deleted.
	Short bool `json:"short,omitempty"`

	Segments     int    `json:"segments"`               // present on disk
	Bytes        int64  `json:"bytes"`                  // of these segments, on disk
	DamagedBytes int64  `json:"damagedBytes,omitempty"` // bytes on disk that do not decode
	Unreadable   uint64 `json:"unreadable,omitempty"`   // segments that cannot be opened or read
	Missing      uint64 `json:"missing,omitempty"`      // the largest possible number of segments that are missing between others
	OpenBytes    int64  `json:"openBytes,omitempty"`    // of an incomplete frame at the end

	// MissedArchives are archives that the JVM overwrote before they were read. Truncations is how
	// often a file was truncated. Both are taken from marks.
	MissedArchives uint64 `json:"missedArchives,omitempty"`
	Truncations    uint64 `json:"truncations,omitempty"`

	Error string `json:"error,omitempty"` // the last error of reading
}

// Complete reports whether the stream and its marks show no loss.
func (s *Stream) Complete() bool {
	return s.Gaps == 0 && s.JVMDropped == 0 && s.JVMCuts == 0 && s.Shortened == 0 && s.DamagedBytes == 0 && s.Unreadable == 0 &&
		s.Missing == 0 && s.MissedArchives == 0 && s.Truncations == 0 && !s.Short
}

// Total is the result for all streams.
type Total struct {
	Complete   bool   `json:"complete"`
	Streams    int    `json:"streams"`
	Incomplete int    `json:"incomplete"` // number of incomplete streams
	Runs       int    `json:"runs"`
	Lines      uint64 `json:"lines"`

	// Reaches is the time after which no stream has lost anything to retention. If Cut is false,
	// retention has never deleted anything, and Reaches is when the oldest segment was begun.
	Reaches time.Time `json:"reaches,omitzero"`
	Cut     bool      `json:"cut,omitempty"`

	// Empty means that the window has neither a line nor a gap. Such a copy is not complete: an
	// application that logged nothing looks the same as a sidecar that persisted nothing.
	Empty bool `json:"empty,omitempty"`

	// Ends is the time of the last line that was read, whether or not it is in the window.
	Ends time.Time `json:"ends,omitzero"`

	// Sidecar says what the copy lacks because a running sidecar has yet to persist it.
	// Nil: nothing.
	Sidecar *owner.Lack `json:"sidecar,omitempty"`

	// Marks counts the marks of the destination, by kind. Warnings counts the marks that mean lost
	// lines or a crash. MarksDamaged means that some marks could not be read.
	Marks        map[mark.Kind]uint64 `json:"marks,omitempty"`
	Warnings     map[mark.Kind]uint64 `json:"markWarnings,omitempty"`
	MarksDamaged bool                 `json:"marksDamaged,omitempty"`
}

// Receiver receives results. If one of its methods returns an error, the check ends.
type Receiver interface {
	Lack(owner.Lack) error // called first, if something is lacking, because reading may have to wait for a disk
	Run(Run) error
	Stream(Stream) error
}

// add adds the counts of o.
func (c *Counts) add(o Counts) {
	c.span(o.First, o.Estimated)
	c.span(o.Last, o.Estimated)
	c.Lines += o.Lines
	for l, n := range o.Levels {
		c.Levels[l] += n
	}
	c.Gaps += o.Gaps
	for r, levels := range o.Dropped {
		for l, n := range levels {
			c.Dropped[r][l] += n
		}
	}
	c.JVMDropped += o.JVMDropped
	c.JVMCuts += o.JVMCuts
	c.Shortened += o.Shortened
	c.JVMCutSeconds += o.JVMCutSeconds
	c.GapBytes += o.GapBytes
}

// span extends the time range to t. A date replaces an estimate.
func (c *Counts) span(t time.Time, estimated bool) {
	switch {
	case t.IsZero() || estimated && !c.Estimated && !c.First.IsZero():
		return
	case c.First.IsZero() || c.Estimated && !estimated:
		c.First, c.Last, c.Estimated = t, t, estimated
	case t.Before(c.First):
		c.First = t
	case t.After(c.Last):
		c.Last = t
	}
}

// gap counts the gap of a marker.
func (c *Counts) gap(g ul.Gap) {
	c.Gaps++
	c.GapBytes += g.Bytes
	for r, levels := range g.Lines {
		for l, n := range levels {
			c.Dropped[r][l] += n
		}
	}
}

// empty reports whether nothing was counted.
func (c *Counts) empty() bool {
	return c.Lines == 0 && c.Gaps == 0 && c.JVMDropped == 0 && c.JVMCuts == 0 && c.Shortened == 0
}
