package lab

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Segments returns the paths of a stream's segments from the oldest to the
// newest: the number after the last dash orders them.
func Segments(dest, stream string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dest, stream))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	type segment struct {
		seq  uint64
		path string
	}
	var found []segment
	for _, e := range entries {
		if e.Name() == ".seek" || e.Name() == ".sums" { // hints, which are not needed to read the lines
			continue
		}
		name, _, _ := strings.Cut(e.Name()[strings.LastIndexByte(e.Name(), '-')+1:], ".")
		seq, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list segments: %q has no number", e.Name())
		}
		found = append(found, segment{seq, filepath.Join(dest, stream, e.Name())})
	}
	slices.SortFunc(found, func(a, b segment) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
	paths := make([]string, len(found))
	for i, s := range found {
		paths[i] = s.path
	}
	return paths, nil
}

// ReadSegment writes the decoded bytes of one segment to w. It fails if the segment is damaged.
func ReadSegment(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".zst":
		d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("read segment: %w", err)
		}
		defer d.Close()
		r = d
	case ".gz":
		d, err := gzip.NewReader(f)
		if errors.Is(err, io.EOF) {
			return nil // no member has been written yet
		}
		if err != nil {
			return fmt.Errorf("read segment %s: %w", filepath.Base(path), err)
		}
		r = d
	}
	if _, err := io.Copy(w, r); err != nil {
		return fmt.Errorf("read segment %s: %w", filepath.Base(path), err)
	}
	return nil
}

// ReadStream writes everything that was persisted of a stream to w, in order.
func ReadStream(w io.Writer, dest, stream string) error {
	paths, err := Segments(dest, stream)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := ReadSegment(w, path); err != nil {
			return err
		}
	}
	return nil
}

// Balance counts the persisted, lost and repeated lines of a stream.
type Balance struct {
	Written    int
	Persisted  int // all lines in the segments
	Lost       int
	Twice      int    // further occurrences of a line
	Difference string // the first difference of bytes, or empty
}

// Exact reports whether the persisted bytes are identical to the written bytes.
func (b Balance) Exact() bool { return b.Difference == "" && b.Lost == 0 && b.Twice == 0 }

func (b Balance) String() string {
	text := fmt.Sprintf("%d lines written, %d persisted, %d lost, %d twice", b.Written, b.Persisted, b.Lost, b.Twice)
	if b.Difference != "" {
		return text + ", " + b.Difference
	}
	return text + ", byte-identical"
}

// Check compares the persisted lines of a stream with the lines that w has written. The writer must have stopped.
func Check(dest, stream string, w *Writer) (Balance, error) {
	r, pipe := io.Pipe()
	go func() { pipe.CloseWithError(ReadStream(pipe, dest, stream)) }()
	defer r.Close()
	return Compare(r, w)
}

// Compare is Check for lines that another program has persisted.
func Compare(persisted io.Reader, w *Writer) (Balance, error) {
	c := newComparison(w)
	in := bufio.NewReaderSize(persisted, 256<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			c.line(line)
		}
		if err == io.EOF {
			return c.end(), nil
		}
		if err != nil {
			return c.end(), err
		}
	}
}

// comparison compares persisted lines with the written lines, which it generates again.
type comparison struct {
	balance Balance
	lines   *Lines
	record  []byte // the rest of the current record
	seen    []uint8
}

func newComparison(w *Writer) *comparison {
	return &comparison{balance: Balance{Written: w.Written()}, lines: NewLines(w.out.Seed, w.out.Rate), seen: make([]uint8, w.Written())}
}

func (c *comparison) line(line []byte) {
	c.balance.Persisted++
	if n, ok := numberOf(line); ok && n < len(c.seen) && c.seen[n] < 255 {
		c.seen[n]++
	}
	if c.balance.Difference != "" {
		return
	}
	if want := c.want(); !bytes.Equal(line, want) {
		c.balance.Difference = fmt.Sprintf("first difference at persisted line %d:\n got  %.120q\n want %.120q", c.balance.Persisted-1, line, want)
	}
}

// want returns the next written line, nil after the last one.
func (c *comparison) want() []byte {
	if len(c.record) == 0 {
		if c.lines.Count() >= c.balance.Written {
			return nil
		}
		c.record = c.lines.Next()
	}
	end := bytes.IndexByte(c.record, '\n') + 1
	line := c.record[:end]
	c.record = c.record[end:]
	return line
}

func (c *comparison) end() Balance {
	for _, n := range c.seen {
		if n == 0 {
			c.balance.Lost++
		} else {
			c.balance.Twice += int(n) - 1
		}
	}
	if want := c.want(); want != nil && c.balance.Difference == "" {
		c.balance.Difference = fmt.Sprintf("the persisted lines end after %d lines, before %.120q", c.balance.Persisted, want)
	}
	return c.balance
}

// numberOf returns the number in a line of [Lines].
func numberOf(line []byte) (int, bool) {
	_, rest, ok := bytes.Cut(line, []byte(" line "))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte(" "))
	n, err := strconv.Atoi(string(digits))
	return n, err == nil && n >= 0
}
