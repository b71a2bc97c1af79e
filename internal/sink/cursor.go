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
	cursorLimit = 4 << 20  // of what is read of a cursor file: ten thousand streams
	maxRaw      = 1 << 59  // raw bytes of a segment
	maxSkip     = 64 << 20 // of a frame, and of what is read with it
)

// cursor is how far a sink has acknowledged one stream. The zero value is a place
// before the oldest segment.
type cursor struct {
	Segment string   `json:"segment"`         // its name; a sink of whole segments has all of it
	Offset  int64    `json:"offset"`          // on disk, of the frame that Skip counts from
	Raw     int64    `json:"raw"`             // raw bytes of the segment before that frame
	Skip    int64    `json:"skip,omitempty"`  // raw bytes after it that are acknowledged too
	Level   ul.Level `json:"level,omitempty"` // that a continuation inherits there
	Dates   dates    `json:"dates,omitzero"`  // the state from which the times of lines are derived there
}

// place is where a Follower begins for c. Committed bytes never change, so that there
// is nothing to compare.
func (c cursor) place() segment.Place {
	return segment.Place{Segment: c.Segment, Offset: c.Offset, Raw: c.Raw}
}

// cursors are those of one sink, as they are in its file.
type cursors struct {
	Sink    string            `json:"sink"` // its name, for people
	Streams map[string]cursor `json:"streams"`
}

// errMalformed is the error of a cursor file whose bytes were read and are not cursors:
// reading it again would not help.
var errMalformed = errors.New("malformed")

// loadCursors reads the file of a sink. A file that does not exist holds none. The error
// is errMalformed, or that of the file system, which may be another one the next time.
func loadCursors(state files, name string) (map[string]cursor, error) {
	path := state.path(name)
	f, err := state.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]cursor{}, nil
	}
	// Whatever another pod has put in the place of the file, no sink has written to it.
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

// check returns why c cannot be a cursor of the stream.
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
	text, _ := json.Marshal(c) // of texts and numbers: it cannot fail
	return append(text, '\n')
}
