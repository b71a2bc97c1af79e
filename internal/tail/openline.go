package tail

import (
	"maps"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// An openLine is a line over the limit of which a part was handed on, the last
// of its stream, and not yet the end.
type openLine struct {
	of    position.Identity // the file that has the rest; zero: none
	level ul.Level
}

// Where nothing of an open line follows, because its file was truncated, or is
// gone at a restart, the next chunk of the stream would run into it. So that
// chunk has a '\n' in front. Source.open tells of which streams what was handed
// on ends in an open line, and Source.openDurable the same of what is durable:
// a Rewind goes back to that. The checkpoint keeps it in the position of the
// file, see addOpenLines.

// maxOpenLines bounds the streams without files whose open line is remembered.
const maxOpenLines = maxFiles

// handOn takes in that c is handed on. continues says that it goes on where the
// last chunk of the same file has ended, and counted that its lines are in the
// read metrics already. It returns c with the end of an open line in front, if
// one was abandoned; area has room for that behind the n bytes of c.
func (s *Source) handOn(area []byte, n int, c Chunk, continues, counted bool) (int, Chunk) {
	st := c.File.stream
	if was, open := s.open[st.name]; open && (!continues || was.of != c.File.id) {
		copy(area[1:n+1], area[:n])
		area[0] = '\n'
		n++
		c.Made++
		c.Lines[was.level]++
		if !counted {
			var v volume
			v.lines[was.level] = 1
			s.countRead(st, v)
		}
	}
	s.handedOn++
	c.number = s.handedOn
	setOpenLine(s.open, c)
	return n, c
}

func setOpenLine(open map[string]openLine, c Chunk) {
	name := c.File.stream.name
	if !c.End.Open {
		delete(open, name)
	} else if len(open) < maxOpenLines {
		open[name] = openLine{c.File.id, c.End.Level}
	}
}

// durable takes in that c is durable. What is published together comes in any
// order, so that only the last chunk of a stream counts.
func (s *Source) durable(c Chunk) {
	st := c.File.stream
	if c.number < st.durable {
		return
	}
	st.durable = c.number
	was, open := s.openDurable[st.name]
	setOpenLine(s.openDurable, c)
	if _, waits := s.waiting[was.of]; open && !waits && s.files[was.of] == nil {
		s.letGo(was.of) // the checkpoint kept its position for the sake of the open line
		delete(s.saved, was.of)
	}
}

// letGo says that the checkpoint need not have the position of a file any more,
// unless that tells of an open line.
func (s *Source) letGo(id position.Identity) {
	for _, line := range s.openDurable {
		if line.of == id {
			return
		}
	}
	s.gone = append(s.gone, id)
}

// loadOpenLines finds the open lines in the positions of a checkpoint.
func (s *Source) loadOpenLines(files map[position.Identity]Saved) {
	for id, saved := range files {
		if saved.Position.Open && saved.Stream != "" && len(s.openDurable) < maxOpenLines {
			s.openDurable[saved.Stream] = openLine{id, saved.Position.Level}
		}
	}
	s.open = maps.Clone(s.openDurable)
}

// addOpenLines adds to the positions for a checkpoint those of open lines that
// have none: of files that are gone, or that were truncated. These have an open
// position at offset 0, which stands for the content before.
func (s *Source) addOpenLines(saved map[position.Identity]Saved) {
	for name, line := range s.openDurable {
		has, known := saved[line.of]
		if gone, ok := s.saved[line.of]; ok && !known {
			has = gone
		}
		if has.Stream = name; has.Position.Offset == 0 {
			has.Position = position.Position{Open: true, Level: line.level}
		}
		saved[line.of] = has
	}
}

// alignOpenLine takes in how the persisted copy of a stream ends: in a line
// that is open, and that no file has the rest of.
func (s *Source) alignOpenLine(stream string, open bool) {
	for _, lines := range []map[string]openLine{s.open, s.openDurable} {
		delete(lines, stream)
		if open && len(lines) < maxOpenLines {
			lines[stream] = openLine{}
		}
	}
}
