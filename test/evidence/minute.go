package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment/seek"
)

// minuteLog generates 10 GiB of log in the form in which a sidecar persists it during a day, with
// segments of the default size and age. Its lines have the default decorators and, if dated is set,
// a date.
type minuteLog struct {
	dir   string // of the stream
	dated bool
	begun time.Time

	encoder  *zstd.Encoder
	recorder seek.Recorder
	entries  []seek.Entry
	segments []seek.Segment
	file     *os.File // the active segment
	at       seek.Place
	disk     int64 // size of all segments
	lines    int
}

const (
	minuteLogTime = 24 * time.Hour
	perSecond     = 10 << 30 / int(minuteLogTime/time.Second)
)

// minute measures how long it takes to read one minute out of 10 GiB, in the middle of a segment,
// with and without the seek file.
func minute(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "minute", Title: "One minute out of 10 GiB",
		Columns: []column{{"wall", "s"}, {"peak", "peak resident, MiB"}, {"lines", "lines"}, {"seek", "seek file, KiB"}, {"share", "seek file, % of the segments"}, {"without", "s without the seek file"}},
	}
	for _, c := range []struct {
		name  string
		dated bool
	}{{minuteDated, true}, {minuteUndated, false}} {
		f, err := minuteOf(e, c.dated)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		x.add(c.name, f)
	}
	return x, nil
}

// The rows of the experiment.
const (
	minuteDated   = "lines with a date"
	minuteUndated = "lines with the default decorators"
)

func minuteOf(e *evidence, dated bool) (figures, error) {
	dest, err := fresh(e.disk, "minute")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dest)
	log, err := makeMinuteLog(dest, dated)
	if err != nil {
		return nil, err
	}
	index := filepath.Join(log.dir, seek.Name)
	stat, err := os.Stat(index)
	if err != nil {
		return nil, err
	}
	f, err := log.catMinute(e)
	if err != nil {
		return nil, err
	}
	f["seek"], f["share"] = float64(stat.Size())/1024, 100*float64(stat.Size())/float64(log.disk)
	if err := os.Remove(index); err != nil {
		return nil, err
	}
	without, err := log.catMinute(e)
	f["without"] = without["wall"]
	return f, err
}

// catMinute measures how `ullage logs` prints a minute of the log, from a cold cache.
func (l *minuteLog) catMinute(e *evidence) (figures, error) {
	if err := l.forget(); err != nil {
		return nil, err
	}
	around := l.begun.Add(minuteLogTime*5/8 - time.Minute) // near the end of a segment of an hour
	out := filepath.Join(e.shm, "minute")
	defer os.Remove(out)
	f, err := measure(e.ctx, "sh", "-c", `exec "$0" logs --around "$1" --within 30s "$2" > "$3"`, e.ullage, around.Format(time.RFC3339), l.dir, out)
	if err != nil {
		return nil, err
	}
	lines, err := countLines(out)
	if want := 60 * l.lines / int(minuteLogTime/time.Second); err == nil && (lines < want*9/10 || lines > want*11/10) {
		err = fmt.Errorf("%d lines in a minute, want about %d", lines, want)
	}
	f["lines"] = float64(lines)
	return f, err
}

// forget drops the log from the page cache.
func (l *minuteLog) forget() error {
	files, err := filepath.Glob(filepath.Join(l.dir, "*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		err = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
		file.Close()
		if err != nil {
			return fmt.Errorf("drop %s from the cache: %w", path, err)
		}
	}
	return nil
}

// makeMinuteLog writes the log in the form of a sidecar that commits every second.
func makeMinuteLog(dest string, dated bool) (*minuteLog, error) {
	l := &minuteLog{dir: filepath.Join(dest, "gc.log"), dated: dated, begun: time.Now().UTC().Truncate(time.Second).Add(-minuteLogTime)}
	if err := os.MkdirAll(l.dir, 0o750); err != nil {
		return nil, err
	}
	var err error
	l.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(256<<10), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	for up := time.Duration(0); up < minuteLogTime; up += time.Second {
		if err := l.second(up); err != nil {
			return nil, err
		}
	}
	if err := l.seal(); err != nil {
		return nil, err
	}
	var file []byte
	for _, e := range l.entries {
		file = e.Append(file)
	}
	return l, os.WriteFile(filepath.Join(l.dir, seek.Name), file, 0o640)
}

// second appends the lines of one second, and the entries of the seek file that are due after it.
func (l *minuteLog) second(up time.Duration) error {
	read := l.begun.Add(up + time.Second)
	if l.file != nil && (read.Sub(l.at.Start) >= time.Hour || l.at.Offset >= 64<<20) {
		if err := l.seal(); err != nil {
			return err
		}
	}
	if l.file == nil {
		l.at = seek.Place{Seq: l.at.Seq + 1, Start: read}
		l.segments = append(l.segments, seek.Segment{Seq: l.at.Seq, Start: read.UnixMilli()})
		name := fmt.Sprintf("%s-%06d.log.zst", read.Format("20060102T150405.000Z"), l.at.Seq)
		var err error
		if l.file, err = os.Create(filepath.Join(l.dir, name)); err != nil {
			return err
		}
	}
	frame := l.encoder.EncodeAll(l.text(up), nil)
	if _, err := l.file.Write(frame); err != nil {
		return err
	}
	l.at.Offset += int64(len(frame))
	l.disk += int64(len(frame))
	l.segments[len(l.segments)-1].Size = l.at.Offset
	due := l.recorder.See(l.at, read, uint32((up + time.Hour).Milliseconds()))
	if len(due) == 0 {
		return nil
	}
	if int64(len(l.entries)+len(due))*seek.EntryBytes > seek.Bound(l.disk) {
		l.entries, _ = seek.Thin(l.entries, l.segments)
	}
	l.entries = append(l.entries, due...)
	l.recorder.Wrote(due)
	return nil
}

// text returns the lines of one second.
func (l *minuteLog) text(up time.Duration) (raw []byte) {
	for step := time.Second / time.Duration(perSecond/100); len(raw) < perSecond; up += step {
		if l.dated {
			raw = append(raw, '[')
			raw = l.begun.Add(up).AppendFormat(raw, "2006-01-02T15:04:05.000-0700")
			raw = append(raw, ']')
		}
		n := l.lines
		raw = fmt.Appendf(raw, "[%d.%03ds][debug][gc,phases   ] GC(%d)   Merge Heap Roots (ms): Min: 0.%d, Avg: 0.%d, Max: 0.%d, Workers: 4\n",
			up/time.Second, up%time.Second/time.Millisecond, n/300, n*7919%10, n*104729%10, n%7)
		l.lines++
	}
	return raw
}

func (l *minuteLog) seal() error {
	err := l.file.Sync()
	if closeErr := l.file.Close(); err == nil {
		err = closeErr
	}
	l.file = nil
	return err
}
