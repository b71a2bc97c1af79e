package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxTries bounds the work of one Resync: damaged bytes can look like many beginnings of
// frames, each with the length of a large frame in its header.
const maxTries = 256

// Resync continues after damage. The caller calls it after a [*CorruptionError], or after a
// [*TornError] in a segment that no longer grows. Resync moves to the next offset where a frame
// decodes, or else to the next offset where an incomplete frame begins, or else to the end of
// the file. It returns the range of the skipped bytes, which has at least one byte unless the
// file ends here. After very many false beginnings, Resync stops at one of them, and Next
// returns a [*CorruptionError] for it.
func (r *Reader) Resync() (from, to int64, err error) {
	from = r.off
	if r.how == None {
		return r.passHole()
	}
	r.in.seek(from)
	if err := r.in.need(1); err == io.EOF {
		return from, from, nil
	}
	if to, err = r.nextFrame(from + 1); err != nil {
		return from, from, fmt.Errorf("look for a frame: %w", err)
	}
	r.off = to
	return from, to, nil
}

// nextFrame returns the offset for Resync to move to: at, or a later one.
func (r *Reader) nextFrame(at int64) (int64, error) {
	magic := zstdMagic
	if r.how == Gzip {
		magic = gzipMagic
	}
	torn := int64(-1)
	var err error
	for tries := 1; ; tries, at = tries+1, at+1 {
		at, err = r.find(magic, at)
		if err == io.EOF && torn >= 0 {
			return torn, nil
		}
		if err == io.EOF {
			return at, nil
		}
		if err != nil {
			return 0, err
		}
		_, _, err = r.frame(at)
		var incomplete *TornError
		var bad *CorruptionError
		switch {
		case err == nil || tries == maxTries:
			return at, nil
		case errors.As(err, &incomplete):
			if torn < 0 {
				torn = at
			}
		case !errors.As(err, &bad):
			return 0, err
		}
	}
}

// find returns the offset of the next magic, or of an incomplete magic at the end of the file.
// If there is neither, the error is io.EOF and the offset is the end of the file.
func (r *Reader) find(magic []byte, at int64) (int64, error) {
	for {
		r.in.seek(at)
		err := r.in.need(len(magic))
		if err != nil && err != io.EOF {
			return at, err
		}
		b := r.in.bytes()
		if i := bytes.Index(b, magic); i >= 0 {
			return at + int64(i), nil
		}
		if err == nil {
			at += int64(len(b) - len(magic) + 1)
			continue
		}
		for ; len(b) > 0; b = b[1:] {
			if isPrefix(b, magic) {
				return at, nil
			}
			at++
		}
		return at, io.EOF
	}
}
