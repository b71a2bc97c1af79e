package tail

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/spool"
	"github.com/ullage/ullage/internal/ul"
)

// A Relief says how much memory the source is to give back, and at whose cost.
type Relief struct {
	Want    int64    // bytes of memory
	Least   int64    // bytes of a file that are worth a record
	Keep    ul.Level // lines at or above it are kept when lines are discarded
	Allowed int64    // what all streams may have together, see Drop
	Refused bool     // only of streams that the destination refuses
}

// relieveTime bounds one Move or Drop: reading waits meanwhile.
const relieveTime = 100 * time.Millisecond

// Move moves unread lines into the spool, compressed, the oldest of the stream
// with the most of them first, until it has given back as much memory as wanted,
// or nothing is left that is worth a record, or it takes too long. It returns how
// much memory it gave back: at least 1 if it moved anything. No line is lost,
// unless the tmpfs has no room even for the compressed lines: these are dropped at
// once, whatever their level and the stream's share.
//
// The order is append, then punch. A kill in between leaves the block in the
// spool and in the file: the record counts, and the next start punches.
func (s *Source) Move(r Relief) (freed int64) {
	left := s.recordsLeft()
	for deadline := s.now().Add(relieveTime); freed < r.Want && left > 0 && s.now().Before(deadline); left-- {
		f := s.toMove(r, 0)
		if f == nil {
			break
		}
		freed += s.relieveFile(f, r.Least, spool.BlockBytes, r.Keep, spool.Without{})
	}
	return freed
}

// recordsLeft makes every file a candidate again, and returns how many records may
// still be made: a start reads no more than [spool.MostRecords].
func (s *Source) recordsLeft() int {
	left := spool.MostRecords
	for _, f := range s.files {
		f.stuck = false
		left -= len(f.records.list)
	}
	return left
}

// relieveFile moves one block of f. A file that cannot be relieved is passed
// over until the next call of Move or Drop.
func (s *Source) relieveFile(f *File, least, most int64, keep ul.Level, without spool.Without) (freed int64) {
	n, err := s.moveBlock(f, least, most, keep, without)
	if err == errRewritten {
		s.truncated(f)
		return 0
	}
	if err != nil {
		s.metrics.readErrors.Inc()
		s.log.once("move", "moving lines into the spool failed", "error", err, "hint", "the next look at the pressure tries again")
	}
	f.stuck = n == 0
	return n
}

// unmoved returns how many bytes of f could be moved.
func (f *File) unmoved() int64 {
	if !f.punchable || f.unaligned || f.stuck {
		return 0
	}
	from, _, _ := f.front()
	return max(0, f.size-from)
}

// front returns where the part of f begins that is neither handed on nor moved,
// whether that is inside a line, and the level there.
func (f *File) front() (offset int64, open bool, level ul.Level) {
	if r := f.records.last(); r != nil && r.End.Offset > f.read.Offset {
		return r.End.Offset, r.End.Open, r.End.Level
	}
	if f.read.Open {
		return f.read.Offset, true, f.openLevel
	}
	return f.read.Offset, false, f.read.Level
}

// toMove returns the oldest file with a block to move, of the stream that has
// most to move and takes more memory than share. Nil: there is none.
func (s *Source) toMove(r Relief, share int64) (oldest *File) {
	if s.spool.log == nil {
		return nil
	}
	most := int64(0)
	for _, st := range s.streams.byName {
		if r.Refused && !st.refused || st.memory <= share && !st.refused {
			continue
		}
		var first *File
		sum := int64(0)
		for _, f := range st.files {
			if n := f.unmoved(); n >= r.Least {
				sum += n
				if first == nil {
					first = f
				}
			}
		}
		if sum > most {
			oldest, most = first, sum
		}
	}
	return oldest
}

// moveBlock moves the next block of f, of at least and at most so many bytes, and
// reports how much memory that gave back: nothing if there is no such block.
func (s *Source) moveBlock(f *File, least, most int64, keep ul.Level, without spool.Without) (freed int64, err error) {
	if err := f.sound(); err != nil {
		return 0, err
	}
	from, open, level := f.front()
	begin := from
	data, err := s.readBlock(f, &from, most)
	if err != nil || int64(len(data)) < least || !s.punched(f) {
		return 0, err
	}
	open = open && from == begin // a hole ends a line
	b := &s.spool.block
	b.Begin(f.of, f.stream.name, from, data)
	b.Read = s.now()
	level, read := s.classifyBlock(f, b, data, open, level, keep)
	if b.End, err = f.behind(data, from); err != nil {
		return 0, errRewritten
	}
	b.End.Open, b.End.Level = data[len(data)-1] != '\n', level
	s.countRead(f.stream, read)
	f.counted = max(f.counted, b.End.Offset)
	if without == spool.WithoutRest() && b.Kept() > b.Len()/2 {
		return 0, nil // it would take long to compress, and give back little
	}
	record, err := s.spool.log.Append(b, without)
	if err != nil {
		return 0, err
	}
	s.countDropped(f.stream, record, spool.Kept)
	s.countDropped(f.stream, record, spool.Rest)
	f.records.add(spooled{Record: record, log: s.spool.log, full: true})
	freed = s.punchRecord(f, f.records.last()) - record.Memory()
	merged, err := s.mergeAround(f, len(f.records.list)-1)
	if err != nil {
		s.log.once("merge", "merging records of the spool failed", "error", err, "hint", "their pages stay in use")
	}
	freed += merged
	f.stream.memory -= freed
	return max(1, freed), nil
}

// behind returns the position behind data, which was read at an offset. It is
// made of the bytes that were read: the file may have others by now.
func (f *File) behind(data []byte, offset int64) (position.Position, error) {
	end := offset + int64(len(data))
	k := position.Span(end)
	if k > len(data) {
		return position.At(f.fd, end)
	}
	return position.Position{Offset: end, Check: position.Checksum(data[len(data)-k:]), CheckLen: k}, nil
}

// sound looks whether f is what is known of it, since the queue may have no
// room for long, and nobody reads meanwhile. What a JVM writes over a truncated
// file must not be taken for what was there.
func (f *File) sound() error {
	size, _, err := f.sizeNow()
	if err != nil {
		return err
	}
	from, _, _ := f.front()
	if r := f.records.last(); size < from || r != nil && !f.intact(r) || !f.holds(f.read) {
		return errRewritten
	}
	return nil
}

// readBlock reads the block that begins at from, or behind the hole there: whole
// lines, or a piece of one that is longer than a block, or that a hole ends.
func (s *Source) readBlock(f *File, from *int64, most int64) ([]byte, error) {
	begin, err := f.nextData(*from)
	if err != nil || begin >= f.size {
		return nil, err
	}
	hole, err := f.nextHole(begin)
	if err != nil {
		return nil, err
	}
	bound := hole < min(f.size, begin+most) || begin+most <= f.size
	data := s.spool.area(int(min(most, hole-begin, f.size-begin)))
	n, err := unix.Pread(f.fd, data, begin)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", f.name, err)
	}
	*from = begin
	keep := lastMessage(data[:n], f.stream.class)
	if keep == 0 && bound && n == len(data) {
		if keep = bytes.LastIndexByte(data, '\n') + 1; keep == 0 {
			keep = n
		}
	}
	return data[:keep], nil
}

// lastMessage returns where the last message in data begins. It may have further
// lines, which a JVM writes with a second write, and which have to go where
// their message goes.
func lastMessage(data []byte, class ul.Classifier) int {
	for end := bytes.LastIndexByte(data, '\n') + 1; end > 0; {
		begin := bytes.LastIndexByte(data[:end-1], '\n') + 1
		if c := class; c.Classify(data[begin:end-1]).Kind != ul.Continuation {
			return begin
		}
		end = begin
	}
	return 0
}

// classifyBlock takes the lines of data into the block, each with its level, and
// shows those that were not read before to whoever wants to see lines. It returns
// the level behind the last of them, and what the metrics of reading count.
func (s *Source) classifyBlock(f *File, b *spool.Block, data []byte, open bool, level, keep ul.Level) (ul.Level, volume) {
	s.countCut(f, data, b.From)
	class := f.stream.class
	class.Resume(level)
	var read volume
	offset := b.From
	counts := !open || b.From == f.read.Offset // the rest of one that is handed on in part
	for len(data) > 0 {
		line, ended := data, false
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			line, ended = data[:end+1], true
		}
		if !open {
			text := bytes.TrimSuffix(line, newline)
			c := class.Classify(text)
			level = c.Level
			if offset >= f.counted {
				read.dropped += c.Dropped
				if s.cfg.OnLine != nil {
					s.cfg.OnLine(text, c)
				}
			}
		}
		b.Take(line, level, effective(level) >= keep, counts)
		if offset += int64(len(line)); offset > f.counted {
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

var newline = []byte{'\n'}

// effective is the level that counts: a line that nobody gave a level is
// information.
func effective(l ul.Level) ul.Level {
	if l == ul.Unknown {
		return ul.Info
	}
	return l
}

// volume is what the metrics of reading count.
type volume struct {
	lines   [ul.NumLevels]uint32
	bytes   int
	dropped uint64 // lines that the JVM says that it dropped itself
}

// mergeAround makes one record of that at an index and its neighbours that are
// side by side with it, as far as they have no lines and were not handed on.
func (s *Source) mergeAround(f *File, at int) (freed int64, err error) {
	if !s.punched(f) {
		return 0, nil
	}
	first := f.records.at(f.read.Offset)
	for _, i := range []int{at + 1, at} {
		if i-1 < first {
			continue
		}
		n, err := f.records.merge(i)
		if err != nil {
			return freed, err
		}
		if n > 0 {
			s.punchRecord(f, &f.records.list[i-1]) // the page between them
			freed += n + position.PageSize
		}
	}
	return freed, nil
}

// punchRecord gives back the pages of the source file that a record stands for,
// if they are what they were, and returns how many bytes it asked to give back.
func (s *Source) punchRecord(f *File, r *spooled) int64 {
	if !r.full || !f.held() || !f.intact(r) {
		return 0
	}
	from, to := r.pages()
	if r.full = s.punchPages(f, from, to) < to; r.full {
		return 0
	}
	return to - from
}

// punched reports whether all records of f are punched, after another try for
// those that are not. Before that no record may be appended for f: a restart takes
// data in the pages of any but the last one for a sign of a truncation.
func (s *Source) punched(f *File) bool {
	for i := range f.records.list {
		r := &f.records.list[i]
		if s.punchRecord(f, r); r.full && f.held() {
			return false
		}
	}
	return true
}
