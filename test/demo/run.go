package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

const (
	stream    = "gc.log"
	selection = "gc*=debug,safepoint*=debug"
	outage    = 2 * time.Second // between the kill of the sidecar and its next start

	// commitEvery is shorter than the default, so that a raise is durable within a second.
	commitEvery = 250 * time.Millisecond
	drain       = time.Minute
)

// run lets the JVM log and the sidecar ship until both have ended.
func (d *demo) run(ctx context.Context) error {
	if err := d.startSidecar(); err != nil {
		return err
	}
	d.say("The sidecar runs (pid %d): %s -> %s", d.side.PID(), d.tmpfs.dir, d.dest)
	if err := d.startJVM(); err != nil {
		return err
	}
	stop := d.tmpfs.watch()
	defer stop()
	if err := d.progress(ctx); err != nil {
		return err
	}
	if err := d.jvm.Wait(drain); err != nil {
		return err
	}
	if err := d.sinkStatus(); err != nil {
		return err
	}
	d.say("The JVM has ended. SIGTERM to the sidecar: it reads the log to its end, commits and exits.")
	d.dropped += counted(d.side, "ullage_dropped_lines_total")
	defer context.AfterFunc(ctx, d.side.Kill)()
	err := d.side.Stop(drain)
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// startSidecar starts the sidecar and waits until it ships.
func (d *demo) startSidecar() error {
	flags := []string{"--annotations", d.annotations()}
	if len(d.engines) > 0 {
		flags = append(flags, "--upload-age", uploadEvery.String())
	}
	for _, e := range d.engines {
		flags = append(flags, "--sink", e.url)
	}
	var err error
	d.side, err = d.sidecar(d.tmpfs.dir, d.dest, flags...)
	return err
}

// sidecar starts a sidecar and waits until it ships.
func (d *demo) sidecar(source, dest string, flags ...string) (*lab.Sidecar, error) {
	cmd := exec.Command(d.ullage, append([]string{"run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0",
		"--sync-interval", commitEvery.String()}, flags...)...)
	cmd.Env = credentials()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C then reaches only the demo, which ends the sidecar
	side, err := lab.StartCommand(cmd)
	if err != nil {
		return nil, err
	}
	if _, err := side.Addr(lab.Patience); err != nil {
		side.Kill()
		return nil, err
	}
	return side, nil
}

// startJVM starts a program that allocates, with two outputs of the same selection.
func (d *demo) startJVM() error {
	source := jvm.Output{Selection: selection, File: filepath.Join(d.tmpfs.dir, stream), Options: "filecount=1,filesize=0"}
	second := jvm.Output{Selection: selection, File: d.second()}
	if err := d.churn(time.Duration(d.seconds)*time.Second, "-XX:+StartAttachListener", source.Flag(), second.Flag()); err != nil {
		return err
	}
	d.say("The JVM runs (%s, pid %d) for %d s: it allocates, and logs %s\n", d.jdk, d.jvm.PID(), d.seconds, selection)
	return nil
}

// churn starts a JVM with a program that allocates for some time.
func (d *demo) churn(lasts time.Duration, flags ...string) (err error) {
	d.jvm, err = jvm.Start(d.jdk, append(append([]string{"-Xmx64m", "-Xmn4m", "-XX:+UseG1GC"}, flags...),
		"-cp", filepath.Join(d.scratch, "classes"), "Churn", strconv.FormatInt(lasts.Milliseconds(), 10), "250")...)
	return err
}

// second is the JVM's second output, on disk. ullage does not know it.
func (d *demo) second() string { return filepath.Join(d.scratch, "second-output") }

// progress prints a line a second until the JVM ends. Meanwhile it raises the JVM's level for a while and kills the
// sidecar once.
func (d *demo) progress(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	begun := time.Now()
	lines := lineCounter{path: d.second()}
	total := time.Duration(d.seconds) * time.Second
	d.raise.lasts = total / 5
	edit, kill, strikes := time.After(total/10), time.After(total/2), d.strikes(total)
	var over, restart <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-d.jvm.Done():
			if d.side == nil { // the JVM has failed early
				return d.startSidecar()
			}
			return nil
		case <-second.C:
			d.say("%3.0f s %11s lines written    backlog %s    tmpfs in use %s",
				time.Since(begun).Seconds(), count(lines.now()), d.backlog(), size(d.tmpfs.inUse()))
		case <-edit:
			if err := d.ask(ctx); err != nil {
				return err
			}
			over = time.After(time.Until(d.raise.asked.Add(d.raise.lasts)))
		case <-over:
			d.awaitRestore(ctx)
		case e := <-strikes:
			e.kill()
			d.say("      The %s is killed with -9, for %s. Neither the JVM nor the commits wait for it.", e.what, outage)
		case <-kill:
			d.dropped += counted(d.side, "ullage_dropped_lines_total")
			d.side.Kill()
			d.side, restart = nil, time.After(outage)
			d.say("      The sidecar is killed with -9. The JVM does not notice: what it writes stays on the tmpfs.")
		case <-restart:
			if err := d.startSidecar(); err != nil {
				return err
			}
			d.say("      The sidecar runs again (pid %d): it continues after the last line that it has committed.", d.side.PID())
		}
	}
}

// strikes returns a channel that yields each engine once, at the time at which it is to be killed.
func (d *demo) strikes(total time.Duration) <-chan *engine {
	due := make(chan *engine, len(d.engines))
	for i, e := range d.engines {
		time.AfterFunc(total*time.Duration(3+3*i)/10, func() { due <- e })
	}
	return due
}

// backlog returns how much is not durable yet, according to the sidecar.
func (d *demo) backlog() string {
	if d.side == nil {
		return "no sidecar"
	}
	bytes, err := d.side.Metric("ullage_backlog_bytes")
	if err != nil {
		return "   unknown"
	}
	return size(int64(bytes))
}

// counted returns the sum of a sidecar's counters that have the given name. A counter that cannot be read adds 0, so
// its lines seem lost.
func counted(side *lab.Sidecar, name string) (sum int) {
	_, metrics, err := side.Get("/metrics")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, name+"{") {
			value := strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:])
			n, _ := strconv.ParseFloat(value, 64)
			sum += int(n)
		}
	}
	return sum
}

// lineCounter counts the lines of a growing file.
type lineCounter struct {
	path  string
	read  int64
	lines int
}

func (c *lineCounter) now() int {
	f, err := os.Open(c.path)
	if err != nil {
		return c.lines // not there yet
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for {
		n, err := f.ReadAt(buf, c.read)
		c.lines += bytes.Count(buf[:n], []byte("\n"))
		c.read += int64(n)
		if err != nil {
			return c.lines
		}
	}
}

// result reads back and compares what was persisted.
func (d *demo) result() (result, error) {
	d.say("Comparing each line.")
	written, err := os.ReadFile(d.second())
	if err != nil {
		return result{}, fmt.Errorf("read what the JVM wrote: %w", err)
	}
	var persisted bytes.Buffer
	if err := lab.ReadStream(&persisted, d.dest, stream); err != nil {
		return result{}, err
	}
	rest := d.raise.without(persisted.Bytes())
	r := result{
		Comparison: jvm.Compare(written, rest, d.raise.changes()...), raise: d.raise, pauses: pausesIn(persisted.Bytes()),
		dropped: d.dropped, bytes: int64(persisted.Len()), tmpfs: d.tmpfs,
	}
	if r.onDisk, err = sizeOf(d.dest); err != nil {
		return r, err
	}
	r.copies, err = d.copies()
	return r, err
}

// sizeOf adds up the sizes of the segments.
func sizeOf(dest string) (sum int64, err error) {
	paths, err := lab.Segments(dest, stream)
	for _, path := range paths {
		stat, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		sum += stat.Size()
	}
	return sum, err
}
