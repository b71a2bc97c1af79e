package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/ul"
)

// Index says what some segments of one sidecar hold that were created on one day. It is
// an object of JSON, replaced as a whole with each segment, of at most 500 segments and of
// one process. A segment that was uploaded again after a kill is in two of them. Fields
// may be added, none changes its meaning.
type Index struct {
	Version   int     `json:"version"` // 1
	Namespace string  `json:"namespace,omitempty"`
	Pod       string  `json:"pod,omitempty"`
	Container string  `json:"container,omitempty"`
	Date      string  `json:"date"`
	Segments  []Entry `json:"segments"` // in the order of their keys
}

// Entry is one segment of an [Index].
type Entry struct {
	Key    string `json:"key"`
	Stream string `json:"stream"`
	Size   int64  `json:"size"` // of the object
	Raw    int64  `json:"raw"`  // of its lines, uncompressed

	Lines map[string]uint64 `json:"lines"` // by level; continuations have that of their record

	// First and Last are the earliest and the latest time of the dated lines that begin
	// and end its frames; zero where none is dated.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`

	// Gaps are the lines that the markers in the segment stand for, by reason and level.
	Gaps map[string]map[string]uint64 `json:"gaps,omitempty"`

	Damaged bool `json:"damaged,omitempty"` // some of it could not be decoded, and is not counted
}

// indexEntries bounds an index object, which is uploaded again with each segment. Another
// one is begun behind it.
const indexEntries = 500

// days are the index objects that one process writes, one at a time.
type days struct {
	bucket *Bucket
	pod    sink.Pod
	begun  time.Time
	index  Index
}

// add enters a segment and uploads the index that has it.
func (d *days) add(ctx context.Context, day string, entry Entry) error {
	if day != d.index.Date || len(d.index.Segments) >= indexEntries {
		d.begun = time.Now()
		d.index = Index{Version: 1, Namespace: d.pod.Namespace, Pod: d.pod.Name, Container: d.pod.Container, Date: day}
	}
	d.index.put(entry)
	text, err := json.Marshal(d.index)
	if err != nil {
		return fmt.Errorf("encode the index: %w", err)
	}
	crc := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	return d.bucket.upload(ctx, d.bucket.indexKey(d.pod, day, d.begun), bytes.NewReader(text), int64(len(text)), crc, "application/json")
}

// put enters e, in place of an earlier entry of its key.
func (i *Index) put(e Entry) {
	at, found := slices.BinarySearchFunc(i.Segments, e.Key, func(e Entry, key string) int { return strings.Compare(e.Key, key) })
	if found {
		i.Segments[at] = e
		return
	}
	i.Segments = slices.Insert(i.Segments, at, e)
}

// describe reads a segment.
func describe(key string, b *sink.Batch) (Entry, error) {
	e := Entry{Key: key, Stream: b.Stream, Size: b.Segment.Size, Lines: map[string]uint64{}}
	r, err := segment.OpenReader(b.Segment.Path)
	if err != nil {
		return e, err
	}
	defer r.Close()
	c := counter{entry: &e}
	for {
		raw, err := r.Next()
		var torn *segment.TornError
		var bad *segment.CorruptionError
		switch {
		case err == nil:
			c.take(raw)
			continue
		case err == io.EOF:
			c.end()
			return e, nil
		case errors.As(err, &torn):
			e.Damaged = true
			c.end()
			return e, nil
		case errors.As(err, &bad):
			e.Damaged = true
			if _, _, err = r.Resync(); err == nil {
				continue
			}
		}
		return e, fmt.Errorf("read the segment: %w", err)
	}
}

// counter counts the lines of a segment.
type counter struct {
	entry *Entry
	class ul.Classifier
	lines [ul.NumLevels]uint64
	gap   ul.Gap
	head  []byte // of a line that goes on in the next frame
	last  []byte // the last header of the frame
	dated bool   // the first one was looked at
}

// headBytes is as much of a line as it takes to know its level and its time.
const headBytes = 4 << 10

// take counts the lines of a frame.
func (c *counter) take(raw []byte) {
	c.entry.Raw += int64(len(raw))
	c.last, c.dated = nil, false
	defer func() { c.date(c.last) }()
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, '\n')
		text := raw
		if n >= 0 {
			text = raw[:n]
		}
		if len(c.head) > 0 || n < 0 {
			c.head = append(c.head, text[:min(len(text), headBytes-len(c.head))]...)
			text = c.head
		}
		if n < 0 {
			return
		}
		c.line(text)
		c.head, raw = c.head[:0], raw[n+1:]
	}
}

func (c *counter) line(text []byte) {
	class := c.class.Classify(text)
	c.lines[class.Level]++
	if class.Kind != ul.Header {
		return
	}
	if class.Level == ul.Warning {
		if g, ok := ul.ParseMarker(text); ok {
			c.gap.Add(g)
		}
	}
	if c.last = text; !c.dated {
		c.dated = true
		c.date(text)
	}
}

// date takes the time of a line, if it has one.
func (c *counter) date(text []byte) {
	var r ul.Record
	r.Parse(text)
	at, ok := r.When()
	if !ok {
		return
	}
	if c.entry.First.IsZero() || at.Before(c.entry.First) {
		c.entry.First = at
	}
	if at.After(c.entry.Last) {
		c.entry.Last = at
	}
}

// end enters what was counted.
func (c *counter) end() {
	if len(c.head) > 0 {
		c.line(c.head)
		c.date(c.head)
	}
	for level, n := range c.lines {
		if n > 0 {
			c.entry.Lines[ul.Level(level).String()] = n
		}
	}
	if c.gap.Total() == 0 {
		return
	}
	c.entry.Gaps = map[string]map[string]uint64{}
	for reason, levels := range c.gap.Lines {
		for level, n := range levels {
			if n == 0 {
				continue
			}
			by := c.entry.Gaps[ul.Reason(reason).String()]
			if by == nil {
				by = map[string]uint64{}
				c.entry.Gaps[ul.Reason(reason).String()] = by
			}
			by[ul.Level(level).String()] = n
		}
	}
}
