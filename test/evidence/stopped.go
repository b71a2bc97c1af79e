package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// logging is a way to log and a place for the log.
type logging struct {
	name  string
	place string // off, disk, tmpfs, or shipped
	flags []string
	from  int // the first JDK that supports it
}

// shippedLogging is the way to log for which this project exists.
const shippedLogging = "log on tmpfs, ullage to the disk"

var loggings = []logging{
	{"logging off", "off", nil, 17},
	{"log on the disk", "disk", nil, 17},
	{"log on the disk, async", "disk", []string{"-Xlog:async"}, 17},
	{"log on the disk, async:stall", "disk", []string{"-Xlog:async:stall"}, 25},
	{"log on tmpfs, no sidecar", "tmpfs", nil, 17},
	{shippedLogging, "shipped", nil, 17},
}

// A spell is how long each JVM runs, and when its disk has a fault.
type spell struct{ runs, from, until time.Duration }

// A fault is what goes wrong with the disk, and when: strike causes it. mkfs has further options of mkfs.ext4, with
// which the disk is made.
type fault struct {
	spell
	strike func(*volume) error
	mkfs   []string
}

// The freeze lasts 11 s, like the longest stop that LinkedIn reported.
var (
	freezing   = spell{runs: 19 * time.Second, from: 4 * time.Second, until: 15 * time.Second}
	saturating = spell{runs: 14 * time.Second, from: 2 * time.Second, until: 12 * time.Second}
	lasting    = spell{runs: 180 * time.Second, from: 2 * time.Second, until: 178 * time.Second}
)

func (s spell) bad() time.Duration { return s.until - s.from }

func (s spell) shade() [2]float64 { return [2]float64{s.from.Seconds(), s.until.Seconds()} }

var stoppedColumns = []column{{"collections", "collections"}, {"durable", "of these durable, %"}, {"pause50", "collection p50, ms"}, {"pause99", "p99, ms"}, {"pauseMax", "longest, ms"},
	{"p50", "hiccup p50, ms"}, {"p99", "p99, ms"}, {"p999", "p99.9, ms"}, {"p9999", "p99.99, ms"}, {"p99999", "p99.999, ms"}, {"longest", "longest, ms"}, {"dropped", "lines dropped"}}

const stoppedMethod = "A JVM logs `gc*=debug,safepoint*=debug` while it makes garbage: %s. One more thread sleeps for a millisecond at a time and records how late it wakes up (a *hiccup*; HdrHistogram, corrected for " +
	"coordinated omission). When the JVM stops all threads, it stops this one too. Times of collections are those of `GarbageCollectorMXBean`. Times of both are recorded after a warm-up of 2 s; collections are counted from the start of the JVM, as its log is. After %g s the JVM is killed with `kill -9`. " +
	"Durable is what is on the disk in the end, after the sidecar's drain, and without what was on the tmpfs: the share of the collections that the JVM counted whose pause is in the log. Dropped is what HotSpot reports."

const stoppedThreat = "The workload and the sidecar share the machine's cores, so hiccups of some milliseconds are waits for a core; " +
	"logging off shows how many there are without a log."

// A workload is the work of a JVM.
type workload struct{ name, arg, heap string }

var (
	linkedIn = workload{"it keeps 100,000 objects of 10 KB, and removes half of them at random, again and again", "linkedin", "2g"}
	rated    = workload{"four threads allocate 400 MB/s and keep 200 MB", "rate", "512m"}
)

// stopped measures JVMs while the disk of their log is frozen.
func (a application) stopped() (*experiment, error) {
	x := &experiment{
		Name: "stopped", Title: "Stop the world, on a disk that freezes", Plot: "longest", Columns: stoppedColumns, Shade: freezing.shade(),
		Question: "How long does an application stand still when the disk of its garbage collector's log does?",
		Method: fmt.Sprintf(stoppedMethod, linkedIn.name+" (on every JDK), or "+rated.name+" (on the newest)", freezing.runs.Seconds()) +
			fmt.Sprintf(" The disk, an ext4 on a loop device, is frozen by `fsfreeze` for %g s, which the second plot shades.", freezing.bad().Seconds()),
		Threat: stoppedThreat,
	}
	if os.Geteuid() != 0 {
		x.NotRun = onlyRoot
		return x, nil
	}
	freeze := fault{spell: freezing, strike: func(v *volume) error { return v.frozen(func() { time.Sleep(freezing.bad()) }) }}
	var all []entry
	for _, jdk := range a.jdks {
		all = append(all, a.stops(x, linkedIn.on(jdk), setting{jdk, linkedIn, freeze}, loggings)...)
	}
	newest := a.jdks[len(a.jdks)-1]
	return x, a.inTurn(x, append(all, a.stops(x, rated.on(newest), setting{newest, rated, freeze}, loggings)...))
}

// on returns the name of a workload on a JDK.
func (w workload) on(jdk lab.JDK) string { return fmt.Sprintf("JDK %d, %s", jdk.Version, w.arg) }

// A setting has the JDK and the workload of a JVM, and the fault of its disk.
type setting struct {
	jdk lab.JDK
	workload
	fault
}

// stops returns the entries for a setting, with one row for each way to log. group begins the names
// of the rows.
func (a application) stops(x *experiment, group string, s setting, ways []logging) (all []entry) {
	for _, l := range ways {
		if s.jdk.Version < l.from {
			continue
		}
		name := group + ": " + l.name
		all = append(all, entry{name, func() (figures, error) {
			fmt.Println("  " + name)
			f, tenths, err := a.stopOne(s, l, nil)
			if err != nil {
				return nil, err
			}
			f.dropUntold("hiccups")
			if r := x.row(name); r.Tenths == nil {
				r.Tenths = tenths
			}
			return f, nil
		}})
	}
	return all
}

// stopOne runs one JVM. If t is not nil, the JVM is traced.
func (a application) stopOne(in setting, l logging, t *tracer) (f figures, tenths []float64, err error) {
	v, err := a.newVolume(in.mkfs...)
	if err != nil {
		return nil, nil, err
	}
	defer v.remove()
	c := a.sidecar("stopped", "zstd")
	p, err := a.place(c, v.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer p.remove()
	dir, s := p.source, (*shipper)(nil)
	switch l.place {
	case "disk":
		dir = p.dest
	case "shipped":
		if s, err = c.start(a.ctx, p); err != nil {
			return nil, nil, err
		}
		defer s.Kill()
	}
	args := append([]string{in.jdk.Java(), "-XX:+UseG1GC", "-Xms" + in.heap, "-Xmx" + in.heap}, l.flags...)
	log := filepath.Join(dir, "gc.log")
	if l.place != "off" {
		args = append(args, "-Xlog:gc*=debug,safepoint*=debug:file="+log+":time,uptime,level,tags:filecount=0")
	}
	args = append(args, "-cp", a.classpath, "Stopped", in.arg, fmt.Sprint(in.runs.Seconds()))
	args = t.around(args, log)
	f, tenths, err = a.untilKilled(exec.CommandContext(a.ctx, args[0], args[1:]...), in.from, t, func() error { return in.strike(v) })
	if v.relieve != nil {
		err = errors.Join(err, v.relieve())
	}
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(f, v.seen)
	if s != nil {
		if err := s.Stop(time.Minute); err != nil {
			return nil, nil, err
		}
	}
	text, err := l.durable(p.dest)
	if err != nil {
		return nil, nil, err
	}
	if t != nil {
		t.pauses = parsePauses(string(text))
	}
	return f, tenths, f.readDurable(l.place, text)
}

// untilKilled starts a JVM, calls bad after the given time, and kills the JVM once it has printed its
// measurements.
func (a application) untilKilled(cmd *exec.Cmd, after time.Duration, t *tracer, bad func() error) (f figures, tenths []float64, err error) {
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error is the kill
	}()
	defer t.sample(cmd.Process.Pid)()
	var said []string
	in, done := bufio.NewScanner(pipe), make(chan error, 1)
	for len(said) < 3 && in.Scan() {
		if said = append(said, in.Text()); len(said) == 1 {
			go func() {
				time.Sleep(after)
				done <- bad()
			}()
		}
	}
	if len(said) > 0 {
		err = <-done // waits even if the JVM has ended: a frozen disk must not be removed
	}
	if len(said) < 3 {
		err = errors.Join(err, fmt.Errorf("the JVM printed only %q", said))
	}
	if err != nil {
		return nil, nil, err
	}
	for text := range strings.FieldsSeq(said[1]) {
		ms, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("read hiccups: %w", err)
		}
		tenths = append(tenths, ms)
	}
	f, err = pairs(said[2])
	return f, tenths, err
}

var pauseOf = regexp.MustCompile(`GC\((\d+)\) Pause (?:Young|Full)`)

// durable returns the log on the disk, or nil if there is none.
func (l logging) durable(dest string) ([]byte, error) {
	switch l.place {
	case "disk":
		return os.ReadFile(filepath.Join(dest, "gc.log"))
	case "shipped":
		var text bytes.Buffer
		err := lab.ReadStream(&text, dest, "gc.log")
		return text.Bytes(), err
	}
	return nil, nil
}

// readDurable counts the collections and the drops in the log on the disk.
func (f figures) readDurable(place string, text []byte) error {
	switch place {
	case "off":
		return nil
	case "tmpfs":
		f["durable"] = 0 // the tmpfs is lost with its pod
		return nil
	}
	var l lines
	if err := l.read(bufio.NewReader(bytes.NewReader(text))); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range pauseOf.FindAllSubmatch(text, -1) {
		seen[string(m[1])] = true
	}
	// The log may also have a collection that ended after the JVM had counted its collections.
	f["durable"], f["dropped"] = 100*min(1, float64(len(seen))/max(1, f["collections"])), l.dropped
	return nil
}
