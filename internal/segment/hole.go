package segment

import (
	"bytes"
	"errors"
	"io"
)

// sectorBytes is the size of the unit that a disk writes completely or not at all.
const sectorBytes = 512

var errHole = errors.New("zeros in place of bytes that never reached the disk")

// holes finds the places where a segment without compression has zeros instead of bytes that did
// not reach the disk before a power cut. Such a segment has no checksums, and recovery keeps the
// bytes after the zeros, because it cannot know that no commit has covered them.
//
// A hole ends where a sector ends. It begins after a commit, and so after a whole line, or
// where a sector begins. So a NUL inside a line is text, unless NULs fill a whole sector.
type holes struct {
	wanted bool  // the file is a segment, so look for holes; other programs' files may have NULs anywhere
	text   int64 // NULs before this offset are text
	end    int64 // of the hole that was found last
}

// plain returns the raw bytes at an offset of a file without frames, up to the next hole.
// If a hole begins there, the error is errHole, or [io.ErrUnexpectedEOF] if nothing follows
// the hole yet.
func (r *Reader) plain(at int64) ([]byte, error) {
	raw := r.in.bytes()
	raw = raw[:min(len(raw), plainBytes)]
	if left := r.end - at; r.end > 0 && left <= 0 {
		return nil, io.EOF
	} else if r.end > 0 {
		raw = raw[:min(int64(len(raw)), left)]
	}
	for i := 0; r.holes.wanted && i < len(raw); {
		n := bytes.IndexByte(raw[i:], 0)
		if n < 0 {
			break
		}
		i += n
		if known := r.holes.text - at; int64(i) < known {
			i = int(min(known, int64(len(raw))))
			continue
		}
		from, to, whole, err := r.zeros(at, i, raw)
		if err != nil {
			return nil, err
		}
		switch {
		case from >= to || whole && to%sectorBytes > 0:
			r.holes.text = to
		case from > at:
			return raw[:min(from-at, int64(len(raw)))], nil
		case whole:
			r.holes.end = to
			return nil, errHole
		default:
			r.holes.end = to
			return nil, io.ErrUnexpectedEOF
		}
	}
	return raw, nil
}

// zeros examines the NULs that begin at raw[i]. It returns the offset at which a hole in them could
// begin, the offset at which they end, and whether something follows them.
func (r *Reader) zeros(at int64, i int, raw []byte) (from, to int64, whole bool, err error) {
	before := []byte{'\n'}
	from = at + int64(i)
	if i > 0 {
		before = raw[i-1 : i]
	} else if at > 0 {
		if _, err := r.file.ReadAt(before, at-1); err != nil {
			return 0, 0, false, err
		}
	}
	if before[0] != '\n' {
		from = (from + sectorBytes - 1) / sectorBytes * sectorBytes
	}
	to = at + int64(i)
	var more []byte
	for block := raw[i:]; ; {
		rest := bytes.TrimLeft(block, "\x00")
		if to += int64(len(block) - len(rest)); len(rest) > 0 {
			return from, to, true, nil
		}
		if more == nil {
			more = make([]byte, firstBuf)
		}
		n, err := r.file.ReadAt(more, to)
		if n == 0 && err == io.EOF {
			return from, to, false, nil
		} else if n == 0 {
			return 0, 0, false, err
		}
		block = more[:n]
	}
}

// passHole does the work of Resync for a file without frames.
func (r *Reader) passHole() (from, to int64, err error) {
	from = r.off
	_, _, err = r.frame(from)
	var torn *TornError
	var bad *CorruptionError
	if errors.As(err, &torn) || errors.As(err, &bad) {
		r.off = r.holes.end
	} else if err != nil && err != io.EOF {
		return from, from, err
	}
	return from, r.off, nil
}
