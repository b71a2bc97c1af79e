package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
)

const (
	cursorLimit = 4 << 20  // bytes read of a cursor file: ten thousand streams
	maxRaw      = 1 << 59  // raw bytes of a segment
	maxSkip     = 64 << 20 // raw bytes of a frame and of the bytes that are read with it
)

// cursor is the place up to which a sink has acknowledged one stream. The zero value is before
// the oldest segment.
type cursor struct {
	Segment string   `json:"segment"`         // its name; a sink of whole segments has all of this segment
	Offset  int64    `json:"offset"`          // on disk, of the frame from which Skip counts
	Raw     int64    `json:"raw"`             // raw bytes of the segment before that frame
	Skip    int64    `json:"skip,omitempty"`  // acknowledged raw bytes after the beginning of that frame
	Level   ul.Level `json:"level,omitempty"` // inherited by a continuation at this place
	Dates   dates    `json:"dates,omitzero"`  // the state from which the times of the next lines are derived
}

// place returns the place at which a Follower begins for c. Committed bytes never change, so the
// Follower need not compare bytes.
func (c cursor) place() segment.Place {
	return segment.Place{Segment: c.Segment, Offset: c.Offset, Raw: c.Raw}
}

// cursors is the content of the cursor file of one sink.
type cursors struct {
	Sink    string            `json:"sink"` // its redacted URL, for human readers
	Streams map[string]cursor `json:"streams"`
}

// errMalformed is the error for a cursor file that was read but holds no cursors: reading it
// again would not help.
var errMalformed = errors.New("malformed")

// loadCursors reads the cursor file of a sink. If the file does not exist, there are no cursors.
// The error is errMalformed, or an error of the file system, which may not occur again at a retry.
func loadCursors(state files, name string) (map[string]cursor, error) {
	path := state.path(name)
	f, err := state.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]cursor{}, nil
	}
	// Another pod must have put this in place of the file: no sink creates such a thing.
	if errors.Is(err, untrusted.ErrNotRegular) || errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("read the cursor: %w: %w", errMalformed, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the cursor: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, cursorLimit))
	if err != nil {
		return nil, fmt.Errorf("read the cursor: %w", err)
	}
	var read cursors
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("read the cursor %s: %w: %w", path, errMalformed, err)
	}
	if read.Streams == nil {
		return nil, fmt.Errorf("read the cursor %s: %w: it has no streams", path, errMalformed)
	}
	for stream, c := range read.Streams {
		if err := c.check(stream); err != nil {
			return nil, fmt.Errorf("read the cursor %s: %w: stream %q: %w", path, errMalformed, stream, err)
		}
	}
	return read.Streams, nil
}

// check returns why c cannot be a cursor of the stream, or nil.
func (c cursor) check(stream string) error {
	if err := segment.ValidStream(stream); err != nil {
		return err
	}
	if _, ok := segment.ParseName(c.Segment); !ok && c != (cursor{}) {
		return fmt.Errorf("%q is not the name of a segment", c.Segment)
	}
	if c.Level >= ul.NumLevels {
		return fmt.Errorf("level %d in %s does not exist", uint8(c.Level), c.Segment)
	}
	if !c.Dates.check() {
		return fmt.Errorf("a date in %s is out of range", c.Segment)
	}
	if c.Offset < 0 || c.Raw < 0 || c.Raw > maxRaw || c.Skip < 0 || c.Skip > maxSkip {
		return fmt.Errorf("an offset in %s is out of range", c.Segment)
	}
	return nil
}

// encodeCursors returns the text of a cursor file.
func encodeCursors(c cursors) []byte {
	text, _ := json.Marshal(c) // cannot fail: c consists of texts and numbers
	return append(text, '\n')
}
