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

// catchUp ships an existing log of a real JVM.
func catchUp(e *evidence) (*experiment, error) {
	data := filepath.Join(e.shm, "data")
	if err := e.makeLog(data); err != nil {
		return nil, err
	}
	lines, err := countLines(data)
	if err != nil {
		return nil, err
	}
	x := &experiment{
		Name: "catchup", Title: "Catch-up", Plot: "cpu",
		Question: "What does it cost to ship an existing log?",
		Method: fmt.Sprintf("%d MiB of a JVM's log at `all=trace` (%.1f million lines), repeated from what it writes in 5 s, lie on tmpfs. Each contestant writes them to the disk. "+
			"Three only copy, as a baseline: `cat` copies without looking at lines, `dd` copies blocks of 256 KiB and waits for the disk at its end, and a loop of reading, compressing and writing 512 KiB uses the encoder of `ullage`, and syncs as often. "+
			"A `cat` before the first round warms up the machine and is not measured. For `ullage`, the bytes that come out are compared with the input; for the others, lines are counted.", e.size, float64(lines)/1e6),
		Threat: "`ullage`, `dd` and the loop wait for the disk (fsync), the others do not. The lines repeat, which favours compression. " +
			"Below 1 GiB, a program's start is scaled up with the rest.",
		Columns: []column{{"cpu", "CPU, s/GiB"}, {"wall", "wall, s/GiB"}, {"peak", "peak memory, MiB"}, {"disk", "on disk, MiB/GiB"}, {"missing", "lines missing"}},
	}
	if err := warmUp(e, data); err != nil {
		return nil, err
	}
	all := []entry{
		{"cat", func() (figures, error) { return e.perGiB(catTo(e, data)) }},
		{ddName, func() (figures, error) {
			return e.perGiB(copied(e, data, `exec dd if="$0" of="$1" bs=256k conv=fsync status=none`))
		}},
		{loopName, func() (figures, error) { return loopBy(e, loopName, data) }},
	}
	shippers := entriesOf(e.contestants, func(c *contestant) (figures, error) { return e.perGiB(e.drain(c, data, lines)) })
	if err := e.inTurn(x, append(all, shippers...)); err != nil {
		return nil, err
	}
	return x, os.Remove(data)
}

// warmUp copies data once on the tmpfs and once to the disk, so that the first contestant does not
// pay for memory and blocks that have not been used since the machine started.
func warmUp(e *evidence, data string) error {
	again := data + "-again"
	defer os.Remove(again)
	if err := exec.CommandContext(e.ctx, "cp", data, again).Run(); err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	_, err := catTo(e, again)
	return err
}

// catTo measures a copy that does not look at lines.
func catTo(e *evidence, data string) (figures, error) { return copied(e, data, `exec cat "$0" > "$1"`) }

// ddName is the row of a copy that waits for the disk once, at its end.
const ddName = "dd, fsync"

// copied measures a shell command that copies data to the disk.
func copied(e *evidence, data, script string) (figures, error) {
	dir, err := fresh(e.disk, "copy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return measure(e.ctx, "sh", "-c", script, data, filepath.Join(dir, "out"))
}

func countLines(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var n newlines
	_, err = io.Copy(&n, f)
	return int(n), err
}

// newlines counts the lines written to it.
type newlines int

func (n *newlines) Write(p []byte) (int, error) {
	*n += newlines(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// perGiB converts the measurement of a whole log to values for each GiB.
func (e *evidence) perGiB(f figures, err error) (figures, error) {
	for _, key := range []string{"cpu", "wall", "disk"} {
		if v, ok := f[key]; ok {
			f[key] = v * 1024 / float64(e.size)
		}
	}
	return f, err
}

// makeLog fills a file with a real JVM's log, repeated up to e.size MiB. The last line may be cut, but has a
// newline.
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

// drain measures a contestant that ships data and then ends.
func (e *evidence) drain(c *contestant, data string, lines int) (figures, error) {
	p, err := e.place(c, "")
	if err != nil {
		return nil, err
	}
	defer p.remove()
	if err := exec.CommandContext(e.ctx, "cp", data, p.log()).Run(); err != nil {
		return nil, fmt.Errorf("fill the source: %w", err)
	}
	started := time.Now()
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	done, peak := make(chan struct{}), make(chan float64, 1)
	go func() { peak <- peakMemory(s.PID(), done) }()
	last, err := c.end(s, p, int64(e.size)<<20)
	close(done)
	f := figures{"wall": last.Sub(started).Seconds(), "cpu": cpu(s.cmd.ProcessState), "peak": <-peak, "disk": float64(p.size()) / (1 << 20)}
	if err != nil {
		return nil, err
	}
	if c.ullage {
		f["missing"] = 0
		return f, same(data, p.dest)
	}
	var n newlines
	err = c.read(&n, p)
	f["missing"] = float64(lines - int(n))
	return f, err
}

// same compares the persisted data with the written data.
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

// comparer fails at the first write that differs from the same part of want.
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
