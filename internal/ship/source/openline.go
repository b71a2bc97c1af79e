package source

import (
	"hash/fnv"
	"io"
	"maps"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// An openLine is the last line of a stream if the line is longer than the limit and only a
// part of it was handed on so far.
type openLine struct {
	of    position.Content // the file that has the rest of the line, or nowhere
	level ul.Level
}

// OpenLines are the streams that end in an open line. The rest of such a line may never arrive,
// because its file was truncated or is gone at a restart. The next chunk of the stream would
// then become a part of the line, so a '\n' is put in front of the chunk.
//
// The checkpoint keeps an open line in the position of its file, see [OpenLines.AddTo].
type OpenLines struct {
	handedOn map[string]openLine // open lines at the end of the lines handed on, by stream
	durable  map[string]openLine // open lines at the end of the durable lines, to which a rewind returns
	chunks   uint64              // number of chunks that were handed on
}

func newOpenLines() *OpenLines {
	return &OpenLines{handedOn: map[string]openLine{}, durable: map[string]openLine{}}
}

// maxOpenLines bounds the number of open lines that are kept: a stream without files keeps its own, too.
const maxOpenLines = MaxFiles

// Next numbers the chunk of f up to end, which is being handed on. abandoned means that the
// stream ended in an open line that the chunk does not continue: the caller must then end that
// line, whose level is level, before the chunk. continues means that the chunk begins where the
// file's last chunk ended.
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

// commit records that f is durable up to end, the end of the chunk with the given number.
// It returns the file of the line that was open before. Chunks that are published together
// arrive in any order, so only the last chunk of a stream is used.
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

// isOf reports whether the position of a file represents a durable open line.
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

// Forget forgets the durable open lines.
func (o *OpenLines) Forget() { clear(o.durable) }

// Rewind returns to the durable open lines.
func (o *OpenLines) Rewind() { o.handedOn = maps.Clone(o.durable) }

// AddTo completes saved, the positions for a checkpoint: it adds those of open lines whose file is
// absent or was truncated. For a line without a position, it adds an open position at offset 0, which
// means that the content with the line is gone.
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

// Align records how the persisted copy of a stream ends. open means that it ends in a line
// whose rest is in no file.
func (o *OpenLines) Align(stream string, open bool) {
	for _, lines := range []map[string]openLine{o.handedOn, o.durable} {
		delete(lines, stream)
		if open && len(lines) < maxOpenLines {
			lines[stream] = openLine{of: nowhere(stream)}
		}
	}
}

// nowhere returns an identity that belongs to no file. Each stream has its own, since a
// checkpoint has one position for each identity.
func nowhere(stream string) position.Content {
	h := fnv.New64a()
	io.WriteString(h, stream)
	return position.Content{Identity: position.Identity{Ino: h.Sum64()}} // without a device
}
