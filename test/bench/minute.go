package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment/seek"
)

// minuteLog is 10 GiB of log that a sidecar has persisted in a day, with segments of the
// default size and age. Its lines have the default decorators and, if dated, a date.
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
	disk     int64 // of all segments
	lines    int
}

const (
	minuteLogTime = 24 * time.Hour
	perSecond     = 10 * gib / int(minuteLogTime/time.Second)
)

// minute reads one minute out of 10 GiB, in the middle of a segment, with the seek file
// and without.
func (b *bench) minute() error {
	for _, dated := range []bool{true, false} {
		name := map[bool]string{true: "dated", false: "default decorators"}[dated]
		dest := filepath.Join(b.dest, "minute")
		log, err := makeMinuteLog(dest, dated)
		if err != nil {
			return err
		}
		stat, err := os.Stat(filepath.Join(log.dir, seek.Name))
		if err != nil {
			return err
		}
		share := 100 * float64(stat.Size()) / float64(log.disk)
		b.add("seek file of 10 GiB, "+name, fmt.Sprintf("%d KiB for %d MiB, %.4f %%", stat.Size()>>10, log.disk>>20, share), "0.1 %", share <= 0.1)
		wall, rss, lines, err := log.catMinute(b.ctx, b.ullage)
		if err != nil {
			return err
		}
		b.add("one minute out of 10 GiB, "+name, fmt.Sprintf("%.2f s, %d lines", wall, lines), "1 s", wall <= 1)
		b.add("one minute out of 10 GiB, "+name+": peak resident MiB", fmt.Sprintf("%.1f", rss), "32", rss <= 32)
		if err := os.Remove(filepath.Join(log.dir, seek.Name)); err != nil {
			return err
		}
		if wall, _, _, err = log.catMinute(b.ctx, b.ullage); err != nil {
			return err
		}
		b.add("... without the seek file, "+name, fmt.Sprintf("%.2f s", wall), "", true)
		if err := os.RemoveAll(dest); err != nil {
			return err
		}
	}
	return nil
}

// catMinute lets `ullage cat` print a minute from a cold cache.
func (l *minuteLog) catMinute(ctx context.Context, ullage string) (wall, rss float64, lines int, err error) {
	if err := l.forget(); err != nil {
		return 0, 0, 0, err
	}
	around := l.begun.Add(minuteLogTime*5/8 - time.Minute) // near the end of a segment of an hour
	cmd := exec.CommandContext(ctx, ullage, "cat", "--around", around.Format(time.RFC3339), "--within", "30s", l.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, 0, err
	}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, 0, err
	}
	peak, done := make(chan float64), make(chan struct{})
	go func() { peak <- peakUntil(done, cmd.Process.Pid) }()
	err = eachLine(out, func([]byte) { lines++ })
	wall = time.Since(started).Seconds()
	close(done)
	rss = <-peak
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	if want := 60 * l.lines / int(minuteLogTime/time.Second); err == nil && (lines < want*9/10 || lines > want*11/10) {
		err = fmt.Errorf("%d lines in a minute, want about %d", lines, want)
	}
	return wall, rss, lines, err
}

// peakUntil returns the peak resident memory of a process in MiB, by looking at it often.
func peakUntil(done <-chan struct{}, pid int) (peak float64) {
	for {
		select {
		case <-done:
			return peak
		case <-time.After(time.Millisecond):
		}
		if mib, err := memory(pid, "VmHWM"); err == nil {
			peak = max(peak, mib)
		}
	}
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

// makeMinuteLog writes the log as a sidecar does that commits each second.
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

// second writes the lines of a second, which are read at its end.
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

// text returns the lines of a second.
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
