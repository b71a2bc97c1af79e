package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const linesASec = 20_000

// steady measures each contestant while a process writes 20,000 lines/s.
func steady(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "steady", Title: "A steady 20,000 lines/s", Plot: "cpu",
		Question: "What does a shipper cost while a JVM logs, what does it cost the JVM, and how old is a line when a reader of the copy sees it?",
		Method: fmt.Sprintf("A process writes 20,000 lines of 130 bytes a second to a file on tmpfs, with one `write(2)` a line, as HotSpot does. CPU time and wake-ups "+
			"(voluntary context switches of all threads) are counted over %s. Each line carries the time of its write; a reader follows the output, "+
			"decompresses it where needed, and subtracts. The writer's CPU time is that of its thread, with making the line and waiting for the next millisecond: compare it with the row "+
			"without a shipper. "+memoryMethod, e.window),
		Threat: "The writer, the reader and the contestant share the cores. `ullage` waits for the disk once a second; the others never do, " +
			"so what their reader sees may not survive a loss of power.",
		Columns: []column{{"cpu", "CPU, % of a core"}, {"wakes", "wake-ups/s"}, {"p50", "p50, ms"}, {"p99", "p99, ms"}, {"rss", memoryTitle}, {"writer", "writer's CPU, µs a line"}},
	}
	all := entriesOf(e.contestants, func(c *contestant) (figures, error) {
		p, err := e.place(c, "")
		if err != nil {
			return nil, err
		}
		defer p.remove()
		return steadyBeside(e, c, p)
	})
	return x, e.inTurn(x, append(all, entry{unshipped, func() (figures, error) { return steadyAlone(e) }}))
}

// unshipped is the row of the writer without a shipper.
const unshipped = "no shipper"

// steadyAlone measures the writer without a shipper.
func steadyAlone(e *evidence) (figures, error) {
	source, err := fresh(e.shm, "unshipped")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(source)
	f, err := os.Create(filepath.Join(source, "gc.log"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	done := make(chan struct{})
	time.AfterFunc(e.window, func() { close(done) })
	cost, err := feed(f, linesASec, usualLine, done)
	return figures{"writer": cost}, err
}

func steadyBeside(e *evidence, c *contestant, p place) (figures, error) {
	f, err := os.Create(p.log())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	time.Sleep(time.Second) // peers do not report when they are up
	done, fed := make(chan struct{}), make(chan error, 1)
	late := make(chan []float64, 1)
	var cost float64
	go func() {
		var err error
		cost, err = feed(f, linesASec, usualLine, done)
		fed <- err
	}()
	go func() { late <- c.follow(p, done) }()
	time.Sleep(2 * time.Second)
	got, err := e.over(s, e.window)
	close(done)
	ages := <-late
	if err := errors.Join(err, <-fed); err != nil {
		return nil, err
	}
	got.summarize(ages)
	got["writer"] = cost
	_, err = c.end(s, p, 0)
	return got, err
}

// lineHead is the beginning of each line that ends with a stamp.
const lineHead = "[2026-11-20T16:45:11.123+0100][12.345s][debug][gc,phases] "

const lineText = "GC(123)   Evacuate Collection Set: 1.2ms "

// shortLine is a line without room for a stamp.
const shortLine = "[1.1s][info][gc] GC\n"

// feed writes lines at a steady rate until done is closed. A line has about the given number of bytes and, if there
// is room, ends with the time of its write in ns. feed returns the CPU time of its thread, in µs a line.
func feed(f io.Writer, rate, bytes int, done <-chan struct{}) (cost float64, err error) {
	const stamp = 19
	text := strings.Repeat(lineText, bytes/len(lineText)+1)[:max(0, bytes-len(lineHead)-stamp-2)]
	head, stamped := lineHead+text+" ", bytes > len(shortLine)
	line := []byte(shortLine)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started, used, n := time.Now(), threadTime(), 0
	for {
		select {
		case <-done:
			return float64((threadTime() - used).Nanoseconds()) / 1e3 / float64(max(n, 1)), nil
		case now := <-tick.C:
			for ; n < int(now.Sub(started).Seconds()*float64(rate)); n++ {
				if stamped {
					line = strconv.AppendInt(append(line[:0], head...), time.Now().UnixNano(), 10)
					line = append(line, '\n')
				}
				if _, err := f.Write(line); err != nil {
					return 0, fmt.Errorf("write a line: %w", err)
				}
			}
		}
	}
}

// threadTime returns the CPU time of the thread.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every Linux has this clock
	return time.Duration(t.Nano())
}

// follow reads the first output file while it grows and returns the ages of its lines in ms. It returns nil if
// there was no output.
func (c *contestant) follow(p place, done <-chan struct{}) (ages []float64) {
	pattern := filepath.Join(p.dest, "out.log*")
	if c.ullage {
		pattern = filepath.Join(p.dest, "gc.log", "*.log*")
	}
	var path string
	for {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the pattern is well-formed
			path = found[0]
			break
		}
		select {
		case <-done:
			return nil
		case <-time.After(2 * time.Millisecond):
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var r io.Reader = &growing{f, done}
	if filepath.Ext(path) == ".zst" {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil
		}
		defer d.Close()
		r = d
	}
	for in := bufio.NewReaderSize(r, 1<<20); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return ages // done is closed; usually in the middle of a frame
		}
		if at := bytes.LastIndexByte(line, ' '); at >= 0 {
			if ns, err := strconv.ParseInt(string(line[at+1:len(line)-1]), 10, 64); err == nil {
				ages = append(ages, float64(time.Now().UnixNano()-ns)/1e6)
			}
		}
	}
}

// growing reads a growing file. Once done is closed, it returns EOF at the end of the file.
type growing struct {
	f    *os.File
	done <-chan struct{}
}

func (g *growing) Read(p []byte) (int, error) {
	for {
		ended := false
		select {
		case <-g.done:
			ended = true
		default:
		}
		if n, err := g.f.Read(p); n > 0 || err != io.EOF || ended {
			return n, err
		}
		time.Sleep(2 * time.Millisecond)
	}
}
