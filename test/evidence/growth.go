package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// burden is the load of a sidecar.
type burden struct {
	rate  int // lines a second, into the first file
	bytes int // of a line with its newline: either the length of shortLine, or at least the length of lineHead and a stamp
	files int // open files with one line each; the first of them grows
	jvms  int // real JVMs, instead of files
}

// size is a burden and its name. The digits in the name are the quantity that grows.
type size struct {
	name string
	load burden
}

const (
	usualLine = 130
	mostHeld  = 2_000 // the sidecar can certainly hold this many files that other processes have open
)

// growthOf measures the sidecar under loads that differ in only one quantity.
func growthOf(e *evidence, x *experiment, sizes []size) (*experiment, error) {
	x.Plot = "cpu"
	x.Method += " " + memoryMethod
	x.Columns = []column{{"cpu", "CPU, % of a core"}, {"rss", memoryTitle}, {"p50", "p50, ms"}, {"p99", "p99, ms"}}
	c := e.sidecar("ullage, zstd", "zstd")
	for _, s := range sizes {
		p, err := e.place(c, "")
		if err != nil {
			return nil, err
		}
		f, err := underLoad(e, c, p, s.load)
		p.remove()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", x.Title, s.name, err)
		}
		x.add(s.name, f)
	}
	return x, nil
}

// slope returns by how much a column grows from the first row to the last, divided by the growth of the quantity
// between them.
func (e *experiment) slope(key string, by float64) float64 {
	before, _, _, _ := e.Rows[0].of(key)
	after, _, _, _ := e.Rows[len(e.Rows)-1].of(key)
	return (after - before) / by
}

// amount renders a value in the largest unit in which it is at least one, or in the smallest unit. Each unit is the
// previous unit divided by step.
func amount(v float64, unit string, step float64, smaller ...string) string {
	for _, next := range smaller {
		if v >= 1 || v <= -1 {
			break
		}
		v, unit = v*step, next
	}
	return figure(v) + " " + unit
}

// underLoad measures the sidecar under a burden. The CPU time is for recurring work only: work that occurs once is
// done before the measurement.
func underLoad(e *evidence, c *contestant, p place, l burden) (figures, error) {
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	var stop func() error
	if l.jvms > 0 {
		stop, err = runJVMs(e, p, l.jvms)
	} else {
		stop, err = writeFiles(p, l)
	}
	if err != nil {
		return nil, err
	}
	done, late := make(chan struct{}), make(chan []float64, 1)
	go func() { late <- c.follow(p, done) }()
	held := min(l.files, mostHeld)
	p.await(held)
	time.Sleep(2*time.Second + time.Duration(held)*10*time.Millisecond) // until the last file is committed and the work at the start is done
	got, err := e.over(s, e.window/2)
	close(done)
	ages := <-late
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	got.summarize(ages)
	_, err = c.end(s, p, 0)
	return got, err
}

// await waits until that many streams have a directory, but at most 2 minutes.
func (p place) await(streams int) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if all, _ := os.ReadDir(p.dest); len(all) >= streams { // the directory may not exist yet
			return
		}
	}
}

// writeFiles opens the files of a burden, and writes to the first one until stop is called.
func writeFiles(p place, l burden) (stop func() error, err error) {
	var files []*os.File
	shut := func() {
		for _, f := range files {
			_ = f.Close() // nothing is buffered
		}
	}
	for i := range l.files {
		path := p.log()
		if i > 0 {
			path = filepath.Join(p.source, fmt.Sprintf("gc-%d.log", i))
		}
		f, err := os.Create(path)
		if err == nil {
			files = append(files, f)
			_, err = f.WriteString("[0.001s][info][gc] Using G1\n")
		}
		if err != nil {
			shut()
			return nil, err
		}
	}
	done, fed := make(chan struct{}), make(chan error, 1)
	go func() {
		// The generator must not use up the cores of the measured process, so at 50,000 lines/s and above each write
		// has many lines.
		w := io.Writer(files[0])
		var buffer *bufio.Writer
		if l.rate >= 50_000 {
			buffer = bufio.NewWriterSize(w, 64<<10)
			w = buffer
		}
		_, err := feed(w, l.rate, l.bytes, done)
		if buffer != nil {
			err = errors.Join(err, buffer.Flush())
		}
		fed <- err
	}()
	return func() error {
		close(done)
		defer shut()
		return <-fed
	}, nil
}

// runJVMs starts JVMs that log debug lines of their collections, until stop is called.
func runJVMs(e *evidence, p place, n int) (stop func() error, err error) {
	var running []*exec.Cmd
	stop = func() error {
		for _, cmd := range running {
			_ = cmd.Process.Kill() // fails only if the JVM has ended, which Wait reports
			_ = cmd.Wait()         // the error is the kill
		}
		return nil
	}
	for i := range n {
		cmd := exec.CommandContext(e.ctx, e.jdks[0].Java(), "-Xmx16m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Xlog:gc*=debug,safepoint*=debug:file="+filepath.Join(p.source, fmt.Sprintf("gc-%d.log", i))+":time,uptime,level,tags:filecount=0", "-cp", e.classes, "Sip")
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, stop())
		}
		running = append(running, cmd)
	}
	return stop, nil
}

// growingLines and the functions below it each return the experiment for one kind of growth.
func growingLines(e *evidence) (*experiment, error) {
	var sizes []size
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		sizes = append(sizes, size{grouped(n) + " lines/s", burden{rate: n, bytes: usualLine, files: 1}})
	}
	return growthOf(e, &experiment{
		Name: "lines", Title: "Growth: lines a second",
		Question: "How do CPU time, memory and delay grow with the lines of a JVM?",
		Method: fmt.Sprintf("One file gets lines of %d bytes. Below 50,000 lines/s each line is a `write(2)`, above, 64 KiB are. The sidecar compresses. "+
			"The delay is from the write until a reader of the segment sees the line; `--sync-interval` is a second.", usualLine),
		Threat: "A JVM that logs 1,000,000 lines/s does nothing else. The lines are alike, which favours compression.",
	}, sizes)
}

func growingFiles(e *evidence) (*experiment, error) {
	var sizes []size
	for _, n := range []int{1, 10, 100, 1_000, mostHeld, 10_000} {
		sizes = append(sizes, size{"files: " + grouped(n), burden{rate: 10_000, bytes: usualLine, files: n}})
	}
	return growthOf(e, &experiment{
		Name: "files", Title: "Growth: files",
		Question: "What does an open file cost that does not grow?",
		Method:   "All files have a line and are open; the first gets 10,000 lines/s. The sidecar holds at most 2,048 files that others have open; what is in the others waits on the tmpfs.",
		Threat:   "The files were written once. Files that all grow cost an fsync each with every commit.",
	}, sizes)
}

func growingLength(e *evidence) (*experiment, error) {
	var sizes []size
	for _, l := range []struct {
		bytes int
		name  string
	}{{len(shortLine), "20 bytes"}, {60, "60 bytes"}, {200, "200 bytes"}, {2_000, "2 kB"}, {20_000, "20 kB"}, {200_000, "200 kB"}, {1 << 20, "1 MiB"}} {
		sizes = append(sizes, size{l.name, burden{rate: 4_000_000 / l.bytes, bytes: l.bytes, files: 1}})
	}
	return growthOf(e, &experiment{
		Name: "length", Title: "Growth: the length of a line",
		Question: "Does a long line cost more than the same bytes in short ones?",
		Method:   "One file gets 4 MB/s, in lines of one length. A line of 1 MiB is written three times a second. Up to 60 bytes, 64 KiB are one `write(2)`, else each line is one. A line of 20 bytes has no room for the time of its write.",
		Threat:   "Long lines are one text repeated, which compresses to little.",
	}, sizes)
}

func growingJVMs(e *evidence) (*experiment, error) {
	var sizes []size
	for _, n := range []int{1, 2, 4, 8, 16} {
		sizes = append(sizes, size{"JVMs: " + strconv.Itoa(n), burden{jvms: n}})
	}
	return growthOf(e, &experiment{
		Name: "jvms", Title: "Growth: JVMs in a pod",
		Question: "What does a further JVM in the pod cost?",
		Method:   fmt.Sprintf("Real JVMs (%s) of 16 MiB collect about four times a second, and log `gc*=debug,safepoint*=debug` to a file each.", e.jdks[0]),
		Threat:   "The JVMs share the cores with the sidecar.",
	}, sizes)
}
