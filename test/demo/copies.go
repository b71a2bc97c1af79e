package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/test/lab"
)

// copied compares the lines of an engine with the persisted lines.
type copied struct {
	what    string
	lines   int // lines at the engine, each counted once
	again   int // repeated lines, with the same uid
	missing int
	foreign int // lines that were never persisted or whose bytes differ
}

func (c copied) err() error {
	switch {
	case c.missing+c.foreign > 0:
		return fmt.Errorf("the %s lacks %d lines and has %d that were not persisted", c.what, c.missing, c.foreign)
	case c.lines == 0:
		return fmt.Errorf("the %s has no lines", c.what)
	}
	return nil
}

func (c copied) String() string {
	text := "each persisted line"
	if c.missing+c.foreign > 0 {
		text = fmt.Sprintf("NOT THE SAME: %d missing, %d foreign", c.missing, c.foreign)
	}
	if c.again > 0 {
		text += fmt.Sprintf("; %s arrived again, each with its earlier uid", strings.TrimSpace(count(c.again)))
	}
	return text
}

// copies reads the lines back from the engines.
func (d *demo) copies() ([]copied, error) {
	if len(d.engines) == 0 {
		return nil, nil
	}
	stored, err := d.stored(d.engines[0])
	if err != nil {
		return nil, err
	}
	collected, err := d.received(d.engines[1])
	return []copied{stored, collected}, err
}

// stored compares what `ullage logs` reads from the bucket with the persisted lines.
func (d *demo) stored(e *engine) (copied, error) {
	c := copied{what: e.what}
	cat := exec.Command(d.ullage, "logs", e.url)
	cat.Env = credentials()
	var complaints bytes.Buffer
	cat.Stderr = &complaints
	got, err := cat.Output()
	if err != nil {
		return c, fmt.Errorf("read the bucket: %w\n%s", err, &complaints)
	}
	var want bytes.Buffer
	if err := lab.ReadStream(&want, d.dest, stream); err != nil {
		return c, err
	}
	c.lines = bytes.Count(got, []byte{'\n'})
	if !bytes.Equal(got, want.Bytes()) {
		persisted := bytes.Count(want.Bytes(), []byte{'\n'})
		c.missing, c.foreign = max(1, persisted-c.lines), max(0, c.lines-persisted)
	}
	return c, nil
}

// received looks for each persisted line in the Collector's records. A record's uid ends with the segment and the
// offset of its line.
func (d *demo) received(e *engine) (copied, error) {
	c := copied{what: e.what}
	persisted, err := d.byPlace()
	if err != nil {
		return c, err
	}
	records, _, err := lab.ReadCollected(d.collected())
	if err != nil {
		return c, err
	}
	seen := map[place]bool{}
	for _, r := range records {
		if strings.Contains(r.UID, "/"+mark.Stream+"/") {
			continue // the sidecar's marks are not lines of the JVM
		}
		at, ok := placeOf(r.UID)
		line, known := persisted[at]
		switch {
		case !ok, !known, !strings.HasSuffix(line, r.Body):
			c.foreign++
		case seen[at]:
			c.again++
		default:
			seen[at] = true
		}
	}
	c.lines = len(seen)
	c.missing = len(persisted) - c.lines
	return c, nil
}

// place is the place of a line in the durable copy.
type place struct {
	segment string
	offset  int
}

// placeOf reads the last two parts of a uid.
func placeOf(uid string) (place, bool) {
	parts := strings.Split(uid, "/")
	if len(parts) < 2 {
		return place{}, false
	}
	offset, err := strconv.Atoi(parts[len(parts)-1])
	return place{parts[len(parts)-2], offset}, err == nil
}

// byPlace returns the persisted lines by their place.
func (d *demo) byPlace() (map[place]string, error) {
	segments, err := lab.Segments(d.dest, stream)
	if err != nil {
		return nil, err
	}
	all := map[place]string{}
	for _, path := range segments {
		var text bytes.Buffer
		if err := lab.ReadSegment(&text, path); err != nil {
			return nil, err
		}
		at := place{segment: filepath.Base(path)}
		for line := range strings.Lines(text.String()) {
			all[at] = strings.TrimSuffix(line, "\n")
			at.offset += len(line)
		}
	}
	return all, nil
}
