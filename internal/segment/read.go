package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const (
	// FrameBytes is the most raw bytes that a sidecar writes into one frame.
	FrameBytes = 1 << 20

	// readFrame bounds a frame, on disk and decoded, in the Readers that this package opens.
	readFrame = 16 << 20

	// plainBytes bounds the bytes that Next returns from a segment without frames.
	plainBytes = 256 << 10
)

// TornError says that the frame that begins at Offset has no end: a writer is still writing the
// frame, or was killed before it had written all of it. It wraps [io.ErrUnexpectedEOF].
type TornError struct {
	Path   string
	Offset int64
}

func (e *TornError) Error() string {
	return fmt.Sprintf("incomplete frame at byte %d of %s", e.Offset, e.Path)
}

// Unwrap returns [io.ErrUnexpectedEOF].
func (e *TornError) Unwrap() error { return io.ErrUnexpectedEOF }

// CorruptionError says that the bytes at Offset do not decode as a frame.
type CorruptionError struct {
	Path   string
	Offset int64
	Err    error // what is wrong with the bytes
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("bad frame at byte %d of %s: %v", e.Offset, e.Path, e.Err)
}

// Unwrap returns Err.
func (e *CorruptionError) Unwrap() error { return e.Err }

var (
	errTooLong = errors.New("frame is longer than ullage ever writes")
	errMagic   = errors.New("no frame begins here")
)

// Reader reads a segment frame by frame. The segment may grow meanwhile. A Reader
// is not safe for concurrent use.
type Reader struct {
	path  string
	file  *os.File
	how   Compression
	limit int // of a frame, on disk and decoded
	off   int64
	end   int64 // where reading stops if the file has no frames; 0: at the end of the file
	last  int   // how many bytes on disk the frame before off takes
	holes holes // used if the file has no frames
	in    window
	raw   []byte // the decoded frame
	zstd  *zstd.Decoder
	gzip  *gzip.Reader
}

// OpenReader opens a segment or any other regular file that a user names, and follows
// links. A file whose name ends in neither .zst nor .gz is read without decoding.
func OpenReader(path string) (*Reader, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	stat, err := file.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open segment: %w", err)
	}
	return newReader(file), nil
}

// OpenListed opens a listed segment as [OpenFile] does: it does not follow a link that has
// since replaced the segment.
func OpenListed(seg Info) (*Reader, error) {
	file, err := OpenFile(seg)
	if err != nil {
		return nil, err
	}
	return newReader(file), nil
}

func newReader(file *os.File) *Reader {
	how := None
	switch filepath.Ext(file.Name()) {
	case ".zst":
		how = Zstd
	case ".gz":
		how = Gzip
	}
	r := NewReader(readFrame)
	r.Reset(file, how)
	_, r.holes.wanted = ParseName(filepath.Base(file.Name()))
	return r
}

// NewReader returns a Reader without a file: call Reset before Next. The Reader treats a
// frame of more than limit bytes, on disk or decoded, as damage.
func NewReader(limit int) *Reader { return &Reader{limit: limit} }

// Reset makes r read a file from its beginning, with the buffers that r has. It does not
// close the previous file.
func (r *Reader) Reset(file *os.File, how Compression) {
	r.file, r.path, r.how, r.off, r.end, r.holes = file, file.Name(), how, 0, 0, holes{}
	r.in.file, r.in.limit = file, r.limit
	r.in.drop()
}

// Offset returns how many bytes of the file were read as frames or skipped by
// Resync.
func (r *Reader) Offset() int64 { return r.off }

// Next returns the raw bytes of the next frame, at least one byte, or a block of at most 256
// KiB if the file has no frames. The bytes are valid until the next call. At the end of the
// file, Next returns [io.EOF], or a [*TornError] if the last frame is incomplete. After either,
// the caller may call Next again when the file has grown. A [*CorruptionError] is returned
// again until Resync is called. Other errors are read errors.
func (r *Reader) Next() ([]byte, error) {
	for {
		raw, n, err := r.frame(r.off)
		if err != nil {
			return nil, err
		}
		r.off, r.last = r.off+int64(n), n
		if len(raw) > 0 {
			return raw, nil
		}
	}
}

// frame decodes the frame at an offset and returns its length on disk. A frame that
// holds nothing, such as a skippable one, has no raw bytes.
func (r *Reader) frame(at int64) (raw []byte, n int, err error) {
	r.in.seek(at)
	if err = r.in.need(1); err != nil {
		if err == io.EOF {
			return nil, 0, io.EOF
		}
		return nil, 0, fmt.Errorf("read segment: %w", err)
	}
	switch r.how {
	case Zstd:
		raw, n, err = r.zstdFrame()
	case Gzip:
		raw, n, err = r.gzipMember()
	default:
		raw, err = r.plain(at)
		n = len(raw)
	}
	var broken *fs.PathError // every error of os.File has this type
	switch {
	case err == nil:
		return raw, n, nil
	case err == io.EOF:
		return nil, 0, io.EOF
	case err == io.ErrUnexpectedEOF:
		r.in.drop() // the file may have other bytes next time
		return nil, 0, &TornError{Path: r.path, Offset: at}
	case errors.As(err, &broken):
		r.in.drop()
		return nil, 0, fmt.Errorf("read segment: %w", err)
	}
	return nil, 0, &CorruptionError{Path: r.path, Offset: at, Err: err}
}

// Close closes the file and frees the decoders.
func (r *Reader) Close() error {
	if r.zstd != nil {
		r.zstd.Close()
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	return nil
}
