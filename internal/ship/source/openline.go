package source

import (
	"hash/fnv"
	"io"
	"maps"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// An openLine is a line over the limit of which a part was handed on, the last
// of its stream, and not yet the end.
type openLine struct {
	of    position.Content // the file that has the rest, or nowhere
	level ul.Level
}

// OpenLines are the streams that end in an open line. Where nothing of such a
// line follows, because its file was truncated, or is gone at a restart, the
// next chunk of the stream would run into it: that chunk gets a '\n' in front.
//
// The checkpoint keeps an open line in the position of its file, see [OpenLines.AddTo].
type OpenLines struct {
	handedOn map[string]openLine // by stream: how what was handed on ends
	durable  map[string]openLine // ... and what is durable, which a rewind goes back to
	chunks   uint64              // that were handed on
}

func newOpenLines() *OpenLines {
	return &OpenLines{handedOn: map[string]openLine{}, durable: map[string]openLine{}}
}

// maxOpenLines bounds the streams without files whose open line is remembered.
const maxOpenLines = MaxFiles

// Next numbers the chunk of f up to end, which is handed on now. If the stream ended
// in an open line that the chunk does not continue, abandoned says so, and level is
// that of the line, which has to be ended in front of the chunk. Continues says that
// the chunk begins where the last one of the same file ended.
func (o *OpenLines) Next(f *File, end position.Position, continues bool) (number uint64, level ul.Level, abandoned bool) {
	was, open := o.handedOn[f.Stream.Name]
	o.chunks++
	setOpenLine(o.handedOn, f, end)
	return o.chunks, was.level, open && (!continues || was.of != f.Of)
}

// InFrontOf reports whether the stream of f ends in an open line that f does not continue
// at its read position.
func (o *OpenLines) InFrontOf(f *File) bool {
	line, open := o.handedOn[f.Stream.Name]
	return open && (!f.Read.Open || line.of != f.Of)
}

func setOpenLine(open map[string]openLine, f *File, end position.Position) {
	name := f.Stream.Name
	if !end.Open {
		delete(open, name)
	} else if len(open) < maxOpenLines {
		open[name] = openLine{f.Of, end.Level}
	}
}

// commit notes that f is durable up to end, which is that of the chunk with a number,
// and returns the file of the line that was open before. Chunks that are published
// together come in any order, so only the last one of a stream counts.
func (o *OpenLines) commit(f *File, end position.Position, number uint64) (ended position.Content, open bool) {
	st := f.Stream
	if number < st.durable {
		return ended, false
	}
	st.durable = number
	was, open := o.durable[st.Name]
	setOpenLine(o.durable, f, end)
	return was.of, open
}

// isOf reports whether the position of a file stands for an open line that is
// durable.
func (o *OpenLines) isOf(id position.Content) bool {
	for _, line := range o.durable {
		if line.of == id {
			return true
		}
	}
	return false
}

// Load finds the open lines in the positions of a checkpoint.
func (o *OpenLines) Load(files map[position.Content]position.Saved) {
	for id, saved := range files {
		if saved.Position.Open && saved.Stream != "" && len(o.durable) < maxOpenLines {
			o.durable[saved.Stream] = openLine{id, saved.Position.Level}
		}
	}
	o.Rewind()
}

// Forget takes nothing for durable any more.
func (o *OpenLines) Forget() { clear(o.durable) }

// Rewind goes back to what is durable.
func (o *OpenLines) Rewind() { o.handedOn = maps.Clone(o.durable) }

// AddTo adds to the positions for a checkpoint those of open lines that have
// none: of files that are absent, or that were truncated. These have an open
// position at offset 0, which stands for the content before.
func (o *OpenLines) AddTo(saved, absent map[position.Content]position.Saved) {
	for name, line := range o.durable {
		has, known := saved[line.of]
		if gone, ok := absent[line.of]; ok && !known {
			has = gone
		}
		if has.Stream = name; has.Position.Offset == 0 {
			has.Position = position.Position{Open: true, Level: line.level}
		}
		saved[line.of] = has
	}
}

// Align notes how the persisted copy of a stream ends: open says that it ends in
// a line that no file has the rest of.
func (o *OpenLines) Align(stream string, open bool) {
	for _, lines := range []map[string]openLine{o.handedOn, o.durable} {
		delete(lines, stream)
		if open && len(lines) < maxOpenLines {
			lines[stream] = openLine{of: nowhere(stream)}
		}
	}
}

// nowhere is the identity of no file. Each stream has its own, since a checkpoint
// has one position for each identity.
func nowhere(stream string) position.Content {
	h := fnv.New64a()
	io.WriteString(h, stream)
	return position.Content{Identity: position.Identity{Ino: h.Sum64()}} // of no device
}
