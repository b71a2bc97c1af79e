package tail

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A mover moves blocks of unread lines out of files into the spool. The order is append, then
// punch. A kill in between leaves the block both in the spool and in the file: the record is
// valid, and the next start punches the file.
type mover struct {
	*env
	spool   *spooler
	punch   puncher
	changes *truncations
}

// A load describes the block that is to be moved in one step.
type load struct {
	least, most int64         // bytes of the file
	keep        ul.Level      // lines at or above it are kept when lines are discarded
	without     spool.Without // the parts that are not stored
}

// relieve moves one block of f. If that fails, f is skipped until the next call of Move or
// Drop.
func (m *mover) relieve(f *source.File, l load) (freed int64) {
	n, err := m.move(f, l)
	if err == source.ErrRewritten {
		m.changes.truncated(f)
		return 0
	}
	if err != nil {
		m.metrics.readErrors.Inc()
		// messages.md#pressure: Most likely the tmpfs is full. The next check of the budget, within
		// 0.1 s, tries again.
		m.log.once("move", "moving lines into the spool failed", "error", err, "hint", "the next check of the budget tries again")
	}
	f.Stuck = n == 0
	return n
}

// move moves the next block of f and returns how much memory that freed. It returns 0 if
// there is no such block.
func (m *mover) move(f *source.File, l load) (freed int64, err error) {
	if err := sound(f); err != nil {
		return 0, err
	}
	from, open, level := f.Front()
	begin := from
	data, err := m.readBlock(f, &from, l.most)
	if err != nil || int64(len(data)) < l.least || !m.punch.records(f) {
		return 0, err
	}
	open = open && from == begin // a hole ends a line
	b := &m.spool.block
	b.Begin(f.Of, f.Stream.Name, from, data)
	b.Read = m.now()
	level, read := m.classify(f, b, data, open, level, l.keep)
	if b.End, err = endOf(f, data, from); err != nil {
		return 0, source.ErrRewritten
	}
	b.End.Open, b.End.Level = data[len(data)-1] != '\n', level
	m.metrics.countRead(f.Stream.Label, read)
	f.Counted.To = max(f.Counted.To, b.End.Offset)
	if l.without == spool.WithoutRest() && b.Kept() > b.Len()/2 {
		return 0, nil // compressing the block would take long and free little
	}
	record, err := m.spool.log.Append(b, l.without)
	if err != nil {
		return 0, err
	}
	m.metrics.dropped.addPart(f.Stream.Label, record, spool.Kept)
	m.metrics.dropped.addPart(f.Stream.Label, record, spool.Rest)
	f.Records.Add(source.Spooled{Record: record, Log: m.spool.log, Full: true})
	freed = m.punch.record(f, f.Records.Last()) - record.Memory()
	merged, err := m.mergeAround(f, len(f.Records.List)-1)
	if err != nil {
		// messages.md#pressure: Their pages stay in use until the lines are durable.
		m.log.once("merge", "merging records of the spool failed", "error", err, "hint", "their pages stay in use")
	}
	freed += merged
	f.Stream.Memory -= freed
	return max(1, freed), nil
}

// sound checks that f still holds the known content. The queue may be full for a long time,
// during which no line is read. If a JVM writes into a truncated file meanwhile, the new
// bytes must not be mistaken for the old ones.
func sound(f *source.File) error {
	size, _, err := f.Inode.Stat()
	if err != nil {
		return f.Failed("stat", err)
	}
	from, _, _ := f.Front()
	if r := f.Records.Last(); size < from || r != nil && !f.Intact(r) || !f.Inode.Holds(f.Read.Position) {
		return source.ErrRewritten
	}
	return nil
}

// endOf returns the position after data, which was read at an offset. The checksum of the
// position is computed from the bytes that were read, since the file may have changed by
// now.
func endOf(f *source.File, data []byte, offset int64) (position.Position, error) {
	end := offset + int64(len(data))
	k := position.Span(end)
	if k > len(data) {
		return position.At(f.Inode.FD, end)
	}
	return position.Position{Offset: end, Check: position.Checksum(data[len(data)-k:]), CheckLen: k}, nil
}

// readBlock reads the block that begins at from, or after a hole there. The block consists
// of whole lines, or of a piece of a line that is longer than a block or ends at a hole.
func (m *mover) readBlock(f *source.File, from *int64, most int64) ([]byte, error) {
	begin, err := f.Inode.NextData(*from)
	if err != nil {
		return nil, f.Failed("look for data in", err)
	}
	if begin >= f.Growth.Size {
		return nil, nil
	}
	hole, err := m.holeBehind(f, begin, most)
	if err != nil {
		return nil, err
	}
	bound := hole < min(f.Growth.Size, begin+most) || begin+most <= f.Growth.Size
	data := m.spool.area(int(min(most, hole-begin, f.Growth.Size-begin)))
	n, err := unix.Pread(f.Inode.FD, data, begin)
	if err != nil {
		return nil, f.Failed("read", err)
	}
	if f.Records.Solid.From > 0 && bytes.IndexByte(data[:n], 0) >= 0 {
		f.Records.Solid = source.Stretch{} // another process may have made a hole since
		return m.readBlock(f, from, most)
	}
	*from = begin
	keep := lastMessage(data[:n], f.Stream.Class)
	if keep == 0 && bound && n == len(data) {
		if keep = bytes.LastIndexByte(data, '\n') + 1; keep == 0 {
			keep = n
		}
	}
	f.Records.Solid = source.Stretch{From: begin + int64(keep), To: hole}
	return data[:keep], nil
}

// holeBehind returns the end of a stretch without holes that starts at begin: the offset of the
// first hole, or an offset that a block of most bytes cannot exceed.
func (m *mover) holeBehind(f *source.File, begin, most int64) (int64, error) {
	if solid := f.Records.Solid; begin >= solid.From && min(f.Growth.Size, begin+most) <= solid.To {
		return solid.To, nil
	}
	f.Records.Solid = source.Stretch{}
	hole, err := f.Inode.NextHole(begin)
	if err != nil {
		return 0, f.Failed("look for a hole in", err)
	}
	return hole, nil
}

// lastMessage returns where the last message in data begins. The JVM may write further lines of
// that message with a second write, and these lines must stay with the message.
func lastMessage(data []byte, class format.Classifier) int {
	for end := bytes.LastIndexByte(data, '\n') + 1; end > 0; {
		begin := bytes.LastIndexByte(data[:end-1], '\n') + 1
		if c := class; c.Classify(data[begin:end-1], data[end:]).Kind != ul.Continuation {
			return begin
		}
		end = begin
	}
	return 0
}

// classify adds the lines of data to the block, each with its level, and passes the lines
// that were not read before to [Outlets.Line]. It returns the level after the last line,
// and the volume for the read metrics.
func (m *mover) classify(f *source.File, b *spool.Block, data []byte, open bool, level, keep ul.Level) (ul.Level, volume) {
	m.noteCuts(f, data, b.From, open)
	class := f.Stream.Class
	class.Resume(level)
	var read volume
	offset := b.From
	counts := !open || b.From == f.Read.Offset // the first line counts if it begins here or was handed on in part
	for len(data) > 0 {
		line, ended := data, false
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			line, ended = data[:end+1], true
		}
		if !open {
			text := bytes.TrimSuffix(line, newline)
			c := class.Classify(text, data[len(line):])
			level = c.Level
			if offset >= f.Counted.To {
				read.dropped += c.Dropped
				if m.to.Line != nil {
					m.to.Line(f.Stream.Label, text, c)
				}
			}
		}
		if gap, marker := f.Stream.Marker(line); marker && !open {
			b.TakeMarker(line, level, gap)
			counts = false
		} else {
			b.Take(line, level, effective(level) >= keep, counts)
		}
		if offset += int64(len(line)); offset > f.Counted.To {
			read.bytes += len(line)
			if counts {
				read.lines[level]++
			}
		}
		open, counts = !ended, ended
		data = data[len(line):]
	}
	if !open {
		level = class.Level()
	}
	return level, read
}

// effective returns the level that decides the fate of a line: a line without a level is
// treated like info.
func effective(l ul.Level) ul.Level {
	if l == ul.Unknown {
		return ul.Info
	}
	return l
}

// mergeAround merges the record at an index with its neighbours if these have not been
// handed on and hold only kept lines and counts.
func (m *mover) mergeAround(f *source.File, at int) (freed int64, err error) {
	if !m.punch.records(f) {
		return 0, nil
	}
	first := f.Records.At(f.Read.Offset)
	for _, i := range []int{at + 1, at} {
		if i-1 < first {
			continue
		}
		n, err := f.Records.Merge(i)
		if err != nil {
			return freed, err
		}
		if n > 0 {
			m.punch.record(f, &f.Records.List[i-1]) // the page between them
			freed += n + position.PageSize
		}
	}
	return freed, nil
}
