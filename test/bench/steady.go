package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

const (
	idleAfter   = 65 * time.Second
	idleFor     = 30 * time.Second
	steadyFor   = 20 * time.Second
	linesASec   = 20_000
	syncDefault = time.Second
)

// quietSource is a source with five files that are open and have some lines.
func (b *bench) quietSource() (dir string, files []*os.File, err error) {
	dir = b.path("source")
	if err := empty(dir); err != nil {
		return "", nil, err
	}
	for i := range 5 {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("gc-%d.log", i)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return "", nil, err
		}
		files = append(files, f)
		for n := range 100 {
			fmt.Fprintf(f, "[%d.000s][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 20M->4M(64M) 1.234ms\n", n, n)
		}
	}
	return dir, files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// idle measures a sidecar that has nothing to do. It watches an annotations
// file, with a trigger that is armed.
func (b *bench) idle() error {
	source, files, err := b.quietSource()
	if err != nil {
		return err
	}
	defer closeAll(files)
	notes := b.path("annotations")
	if err := os.WriteFile(notes, []byte("ullage.dev/trigger=\"pause>10s\"\n"), 0o644); err != nil {
		return err
	}
	s, err := startAlone(b, source, filepath.Join(b.dest, "durable"), "--annotations", notes)
	if err != nil {
		return err
	}
	select { // until what there was is committed, and the start's memory is given back
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-time.After(idleAfter):
	}
	before, err := switches(s.PID())
	if err != nil {
		return err
	}
	used, err := b.cpuOver(s, idleFor)
	if err != nil {
		return err
	}
	after, err := switches(s.PID())
	if err != nil {
		return err
	}
	rss, err := memory(s.cmd.Process.Pid, "RssAnon")
	if err != nil {
		return err
	}
	b.add("idle, 5 files: MiB of memory of its own", fmt.Sprintf("%.1f", rss), "12", rss <= 12)
	b.add("idle, 5 files: times a second that a thread wakes", fmt.Sprintf("%.1f", float64(after-before)/idleFor.Seconds()), "", true)
	b.add("idle, 5 files: CPU % of a core", fmt.Sprintf("%.2f", used), "0.10", used <= 0.1)
	return s.stop()
}

// cpuOver returns the per cent of a core that the sidecar uses over a while.
func (b *bench) cpuOver(s *sidecar, d time.Duration) (float64, error) {
	before, err := cpuNow(s.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(d):
	}
	after, err := cpuNow(s.cmd.Process.Pid)
	return (after - before) / d.Seconds() * 100, err
}

// pace writes lines at a steady rate, made by line, until done is closed.
func pace(f *os.File, done <-chan struct{}, line func(n int) []byte) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	started, n := time.Now(), 0
	for {
		select {
		case <-done:
			return
		case now := <-tick.C:
			for ; n < int(now.Sub(started).Seconds()*linesASec); n++ {
				if _, err := f.Write(line(n)); err != nil {
					return
				}
			}
		}
	}
}

// steady measures what 20,000 lines/s cost over an idle sidecar.
func (b *bench) steady() error {
	source, files, err := b.quietSource()
	if err != nil {
		return err
	}
	defer closeAll(files)
	s, err := b.start(source, filepath.Join(b.dest, "durable"))
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	idle, err := b.cpuOver(s, steadyFor)
	if err != nil {
		return err
	}
	done, over := make(chan struct{}), make(chan struct{})
	text := []byte("[2026-11-20T16:45:11.123+0100][12.345s][debug][gc,phases      ] GC(123)   Evacuate Collection Set: 1.2ms, and so on to\n")
	go func() { defer close(over); pace(files[0], done, func(int) []byte { return text }) }()
	used, err := b.cpuOver(s, steadyFor)
	close(done)
	<-over
	if err != nil {
		return err
	}
	b.add("20,000 lines/s: CPU % of a core above idle", fmt.Sprintf("%.2f", used-idle), "2.00", used-idle <= 2)
	return s.stop()
}

// latency measures how long after it was written a line is in the segment.
// Each line carries the time of its write; segments are plain, and watched.
func (b *bench) latency() error {
	source, files, err := b.quietSource()
	if err != nil {
		return err
	}
	defer closeAll(files)
	dest := filepath.Join(b.dest, "plain")
	s, err := b.start(source, dest, "--compress", "none", "--match", "gc-0.log")
	if err != nil {
		return err
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		pace(files[0], done, func(n int) []byte {
			return fmt.Appendf(nil, "[%020d][info][gc,phases] line %d of many, which is filled up to the usual length of a line\n", time.Now().UnixNano(), n)
		})
	}()
	late, err := watch(filepath.Join(dest, "gc-0.log"), steadyFor)
	close(done)
	<-over
	if err != nil {
		return err
	}
	limit := float64((syncDefault + 100*time.Millisecond).Milliseconds())
	b.add("20,000 lines/s: ms from write to segment, p50 / p99", fmt.Sprintf("%.0f / %.0f", percentile(late, .5), percentile(late, .99)),
		fmt.Sprintf("p99 %.0f", limit), percentile(late, .99) <= limit)
	return s.stop()
}

// watch reads the active segment as it grows and returns how old its lines
// were, in milliseconds.
func watch(dir string, d time.Duration) (late []float64, err error) {
	deadline := time.Now().Add(d)
	var f *os.File
	for f == nil {
		if infos, _ := segment.List(dir); len(infos) > 0 {
			if f, err = os.Open(infos[0].Path); err != nil {
				return nil, err
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no segment in %s", dir)
		}
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for time.Now().Before(deadline) {
		line, err := r.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		if stamp, _, ok := bytes.Cut(line[1:], []byte("]")); ok && len(stamp) == 20 {
			if ns, err := strconv.ParseInt(string(stamp), 10, 64); err == nil {
				late = append(late, float64(time.Now().UnixNano()-ns)/1e6)
			}
		}
	}
	if len(late) == 0 {
		return nil, fmt.Errorf("no line came through")
	}
	return late, nil
}
