package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// catchUp ships a real JVM's log that is there already.
func (e *evidence) catchUp() (*experiment, error) {
	data := filepath.Join(e.shm, "data")
	if err := e.makeLog(data); err != nil {
		return nil, err
	}
	x := &experiment{
		Name: "catchup", Title: "Catch-up", Plot: "cpu",
		Question: "What does it cost to ship a log that is there already?",
		Method: fmt.Sprintf("%d MiB of a JVM's log at `all=trace`, repeated from what it writes in 5 s, lie on tmpfs. Each contestant writes them to the disk. "+
			"`cat` is the physical limit: it copies without reading a line. For `ullage`, the bytes that come out are compared with those that went in.", e.size),
		Threat: "`cat` does not wait for the disk (no fsync), `ullage` does. The lines repeat, which favours compression. " +
			"Below 1 GiB, the sidecar's start is scaled up with the rest. No other shipper takes part yet.",
		Columns: []column{{"cpu", "CPU, s/GiB"}, {"wall", "wall, s/GiB"}, {"peak", "peak resident, MiB"}},
	}
	for round := range e.rounds {
		fmt.Printf("  round %d of %d\n", round+1, e.rounds)
		dir, err := fresh(e.disk, "copy")
		if err != nil {
			return nil, err
		}
		f, err := measure(e.ctx, "sh", "-c", `exec cat "$0" > "$1"`, data, filepath.Join(dir, "out"))
		if err != nil {
			return nil, err
		}
		x.add("cat", e.perGiB(f))
		for _, compress := range []string{"none", "zstd"} {
			f, err := e.drain(data, compress)
			if err != nil {
				return nil, err
			}
			x.add("ullage, "+compress, e.perGiB(f))
		}
	}
	return x, nil
}

func (e *evidence) perGiB(f figures) figures {
	f["cpu"] *= 1024 / float64(e.size)
	f["wall"] *= 1024 / float64(e.size)
	return f
}

// makeLog fills a file with a real JVM's log, in whole lines but for the last.
func (e *evidence) makeLog(path string) error {
	raw := filepath.Join(e.shm, "raw")
	defer os.Remove(raw)
	if _, err := measure(e.ctx, e.jdks[0].Java(), "-Xmx96m", "-Xlog:all=trace:file="+raw+":time,uptime,level,tags:filecount=0",
		"-cp", e.classes, "Garbage", "5"); err != nil {
		return err
	}
	text, err := os.ReadFile(raw)
	if err != nil {
		return err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for left := e.size << 20; left > 0 && err == nil; left -= len(text) {
		if left < len(text) {
			text = append(text[:left-1:left-1], '\n')
		}
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

// drain lets a sidecar ship data, and end.
func (e *evidence) drain(data, compress string) (figures, error) {
	source, err := fresh(e.shm, "source")
	if err != nil {
		return nil, err
	}
	dest, err := fresh(e.disk, "durable")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dest)
	if err := exec.CommandContext(e.ctx, "cp", data, filepath.Join(source, "gc.log")).Run(); err != nil {
		return nil, fmt.Errorf("fill the source: %w", err)
	}
	started := time.Now()
	s, err := e.ship(source, dest, "--compress", compress)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	done, peak := make(chan struct{}), make(chan float64)
	go func() { peak <- peakMemory(s.PID(), done) }()
	err = s.Stop(10 * time.Minute)
	wall := time.Since(started).Seconds()
	close(done)
	mib := <-peak
	if err != nil {
		return nil, err
	}
	if err := same(data, dest); err != nil {
		return nil, err
	}
	return figures{"wall": wall, "cpu": cpu(s.cmd.ProcessState), "peak": mib}, nil
}

// same compares what was persisted with what was written.
func same(data, dest string) error {
	want, err := os.Open(data)
	if err != nil {
		return err
	}
	defer want.Close()
	c := &comparer{want: want}
	if err := lab.ReadStream(c, dest, "gc.log"); err != nil {
		return fmt.Errorf("compare what was persisted: %w", err)
	}
	if n, _ := want.Read(make([]byte, 1)); n > 0 {
		return errors.New("compare what was persisted: the end is missing")
	}
	return nil
}

// comparer fails at the first write that differs from what want has there.
type comparer struct{ want io.Reader }

func (c *comparer) Write(p []byte) (int, error) {
	there := make([]byte, len(p))
	if _, err := io.ReadFull(c.want, there); err != nil {
		return 0, err
	}
	if !bytes.Equal(there, p) {
		return 0, errors.New("bytes differ")
	}
	return len(p), nil
}
