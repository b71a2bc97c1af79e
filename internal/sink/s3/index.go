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

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/sink"
)

// Index describes segments that one sidecar created on one day: at most 500, all uploaded by one
// process. It is a JSON object that is replaced as a whole with each segment. A segment that was
// uploaded again after a kill is in two indexes. Fields may be added, but the meaning of a field
// never changes.
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

	Lines map[string]uint64 `json:"lines"` // by level; a continuation has the level of its record

	// First and Last are the earliest and the latest time of the dated lines at the beginnings
	// and ends of the segment's frames. They are zero if no such line is dated.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`

	// Gaps are the dropped lines that the markers in the segment count, by reason and level.
	Gaps map[string]map[string]uint64 `json:"gaps,omitempty"`

	Damaged bool `json:"damaged,omitempty"` // a part of the segment could not be decoded, and is not counted
}

// indexEntries bounds an index object, which is uploaded again with each segment. When an
// object is full, another one is begun.
const indexEntries = 500

// days writes the index objects of one process, one at a time.
type days struct {
	bucket *Bucket
	pod    sink.Pod
	begun  time.Time
	index  Index
}

// add adds the entry of a segment to the index. Then it uploads the index.
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

// put adds e, or replaces an earlier entry with its key.
func (i *Index) put(e Entry) {
	at, found := slices.BinarySearchFunc(i.Segments, e.Key, func(e Entry, key string) int { return strings.Compare(e.Key, key) })
	if found {
		i.Segments[at] = e
		return
	}
	i.Segments = slices.Insert(i.Segments, at, e)
}

// describe reads a segment and returns its entry. class is a new Classifier of the stream.
func describe(key string, b *sink.Batch, class format.Classifier) (Entry, error) {
	r, err := segment.OpenListed(b.Segment)
	if err != nil {
		return Entry{}, err
	}
	defer r.Close()
	c := counter{class: class}
	damaged := false
	for {
		raw, err := r.Next()
		var torn *segment.TornError
		var bad *segment.CorruptionError
		switch {
		case err == nil:
			c.take(raw)
			continue
		case errors.As(err, &bad):
			damaged = true
			c.end() // damage ends a line
			if _, _, err = r.Resync(); err == nil {
				continue
			}
		}
		if err != io.EOF && !errors.As(err, &torn) {
			return Entry{}, fmt.Errorf("read the segment: %w", err)
		}
		c.end()
		e := entryOf(key, b, c.sum)
		e.Damaged = damaged || err != io.EOF
		return e, nil
	}
}

// entryOf returns the entry for a segment with a known sum.
func entryOf(key string, b *sink.Batch, s index.Sum) Entry {
	e := Entry{Key: key, Stream: b.Stream, Size: b.Segment.Size, Raw: s.Raw, Lines: byLevel(s.Lines), First: s.First, Last: s.Last}
	if s.Gap.Total() == 0 {
		return e
	}
	e.Gaps = map[string]map[string]uint64{}
	for reason, lines := range s.Gap.Lines {
		if by := byLevel(lines); len(by) > 0 {
			e.Gaps[ul.Reason(reason).String()] = by
		}
	}
	return e
}

func byLevel(lines [ul.NumLevels]uint64) map[string]uint64 {
	by := map[string]uint64{}
	for level, n := range lines {
		if n > 0 {
			by[ul.Level(level).String()] = n
		}
	}
	return by
}

// counter counts the lines of a segment.
type counter struct {
	sum   index.Sum
	class format.Classifier
	lines cut.Lines
}

// take counts the lines that end in a frame.
func (c *counter) take(raw []byte) {
	c.sum.Frame(raw)
	c.count(raw)
}

// end ends a line without a newline: the segment ends here, or bytes are missing.
func (c *counter) end() {
	c.lines.End()
	c.count(nil)
}

func (c *counter) count(raw []byte) {
	c.lines.Feed(raw)
	for p := range c.lines.Heads() {
		text := p.Head()
		if g, ok := ul.ParseMarker(text); ok { // a message that continues after the marker must not inherit the marker's level
			c.sum.Gap.Add(g)
			c.sum.Lines[ul.Warning]++
			continue
		}
		c.sum.Lines[c.class.Classify(text, c.lines.Rest()).Level]++
	}
}
