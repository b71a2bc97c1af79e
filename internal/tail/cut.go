package tail

import (
	"bytes"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// takeCuts returns how many of the lines in data, which lies at offset, HotSpot
// began on a full tmpfs and could not end. It fills the page, gives up what did not
// fit, and writes its next message, once there is room, right behind. So such a
// line goes on at the beginning of a page with a prefix like that of the lines
// around it. Each page is looked at once.
func (c *counted) takeCuts(data []byte, offset int64) (cuts int) {
	for page := position.PageAfter(offset); page < offset+int64(len(data)); page += position.PageSize {
		i := int(page - offset)
		if page >= c.cuts && i > 0 && data[i] == '[' && data[i-1] != '\n' && isCut(data, i) {
			cuts++
		}
	}
	c.cuts = max(c.cuts, offset+int64(len(data)))
	return cuts
}

// isCut reports whether at data[i], inside a line, another one begins: with a
// prefix of the same decorators as the line has, or else, if that was cut
// inside its own, as the line before it has. What is only the rest of a prefix
// lacks the first of them.
func isCut(data []byte, i int) bool {
	start := bytes.LastIndexByte(data[:i], '\n') + 1
	var glued, own ul.Record
	glued.Parse(lineAt(data, i))
	own.Parse(data[start:i])
	if own.Kind != ul.Header && start > 0 {
		own.Parse(lineAt(data, bytes.LastIndexByte(data[:start-1], '\n')+1))
	}
	return glued.Kind == ul.Header && own.Kind == ul.Header && glued.Present == own.Present
}

// lineAt returns the line that begins at data[i], without its newline.
func lineAt(data []byte, i int) []byte {
	line, _, _ := bytes.Cut(data[i:], newline)
	return line
}
