package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// lossColumns are the columns for lost and repeated lines.
var lossColumns = []column{{"written", "lines"}, {"lost", "lost"}, {"share", "lost, %"}, {"twice", "twice"}, {"torn", "torn"}}

// losses returns the figures of a balance. Torn lines are persisted lines that were never written
// in that form.
func losses(b lab.Balance) figures {
	f := figures{"written": float64(b.Written), "lost": float64(b.Lost), "twice": float64(b.Twice)}
	f["torn"] = max(0, float64(b.Persisted-(b.Written-b.Lost)-b.Twice))
	f["share"] = 100 * f["lost"] / max(1, f["written"])
	return f
}

// stormed measures contestants while small files rotate fast.
func stormed(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "storm", Title: "A rotation storm", Plot: "share",
		Question: "Does a shipper lose lines when the JVM rotates faster than it reads?",
		Method: fmt.Sprintf("A writer logs 50 MB/s for %s as HotSpot rotates: files of 1 MiB, five archives, the oldest overwritten. An archive lives 0.1 s. "+
			"The lines are numbered, and the output is compared with them once it has not grown for 3 s.", e.window),
		Threat: "A JVM rarely logs as much. The writer's CPU time is taken from the contestants, as a JVM's is. " +
			"A contestant that reads slowly misses whole files, so its share of lost lines grows with the rate.",
		Columns: lossColumns,
	}
	return x, e.inTurn(x, entriesOf(e.contestants, func(c *contestant) (figures, error) { return rotated(e, c) }))
}

// rotated runs a contestant while a writer rotates its files.
func rotated(e *evidence, c *contestant) (figures, error) {
	p, err := e.place(c, "")
	if err != nil {
		return nil, err
	}
	defer p.remove()
	const lineBytes = 170 // the average length of the lab's lines
	w := lab.NewWriter(lab.Output{Path: p.log(), Seed: 1, Rate: 50_000_000 / lineBytes, Files: 5, FileBytes: 1 << 20})
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	time.Sleep(time.Second)
	ctx, cancel := context.WithTimeout(e.ctx, e.window)
	defer cancel()
	if err := w.Run(ctx); err != nil {
		return nil, err
	}
	if _, err := c.end(s, p, 0); err != nil {
		return nil, err
	}
	b, err := c.balance(p, w)
	return losses(b), err
}

// crowded is the storm while other processes compete for the cores.
func crowded(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "crowded", Title: "A rotation storm, with two busy loops", Plot: "share",
		Question: "Does a shipper lose lines in a rotation storm when others of the same priority want its cores?",
		Method:   "The storm again, with two processes that run an endless loop.",
		Threat: "An archive lives 0.1 s at the writer's full rate; the writer gets less of a core as well, and writes less than in the storm before. " +
			"A kernel that gives a shipper no core for longer than an archive lives costs lines, whatever the shipper is.",
		Columns: lossColumns,
	}
	ctx, cancel := context.WithCancel(e.ctx)
	var loops []*exec.Cmd
	defer func() {
		cancel()
		for _, loop := range loops {
			_ = loop.Wait() // the error is the kill
		}
	}()
	for range 2 {
		loop := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			return nil, fmt.Errorf("start a busy loop: %w", err)
		}
		loops = append(loops, loop)
	}
	return x, e.inTurn(x, entriesOf(e.contestants, func(c *contestant) (figures, error) { return rotated(e, c) }))
}

// kills kills every contestant five times in a row.
func kills(e *evidence) (*experiment, error) {
	const every = 2 * time.Second
	x := &experiment{
		Name: "kills", Title: "`kill -9`, five times", Plot: "lost",
		Question: "What does a crash of the shipper lose or repeat?",
		Method: fmt.Sprintf("A writer logs 10,000 lines/s to one file. The shipper is killed every %s and started again at once. "+
			"Each keeps its positions on the disk, as its documentation recommends, or on the tmpfs (`ullage`). All contestants run at the same time, with files of their own.", every),
		Threat:  "The kills come at fixed times, so few of a program's states are hit. `make crash` kills `ullage` at hundreds of random moments.",
		Columns: lossColumns,
	}
	return x, e.quiet.eachRound(e.rounds, func() error {
		return e.quiet.measured(x, func() ([]result, error) {
			return e.sideBySide(func(c *contestant) (figures, error) { return killed(e, c, every) })
		})
	})
}

func killed(e *evidence, c *contestant, every time.Duration) (figures, error) {
	p, err := e.place(c, "")
	if err != nil {
		return nil, err
	}
	defer p.remove()
	w := lab.NewWriter(lab.Output{Path: p.log(), Seed: 2, Rate: 10_000})
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	wrote := make(chan error, 1)
	go func() { wrote <- w.Run(ctx) }()
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	for range 5 {
		time.Sleep(every)
		s.Kill()
		if s, err = c.start(e.ctx, p); err != nil {
			return nil, err
		}
	}
	defer s.Kill()
	time.Sleep(every)
	cancel()
	if err := <-wrote; err != nil {
		return nil, err
	}
	if _, err := c.end(s, p, 0); err != nil {
		return nil, err
	}
	b, err := c.balance(p, w)
	return losses(b), err
}

// frozen freezes the destination's disk for half a minute.
func frozen(e *evidence) (*experiment, error) {
	const freeze = 30 * time.Second
	x := &experiment{
		Name: "frozen", Title: "A frozen disk", Plot: "share",
		Question: "What happens to the lines, and to the shipper's memory, while the destination takes nothing for 30 s?",
		Method: "The destination is an ext4 on a loop device, which `fsfreeze` stops for 30 s. The writer logs 20,000 lines/s (3.4 MB/s) into files of 8 MiB with five archives on a tmpfs: " +
			"48 MiB, within the 64 MiB that `ullage` may use. All contestants run at the same time, with files and disks of their own. " +
			"The spool, which holds compressed what `ullage` has moved out of the logs, is measured at the end of the freeze.",
		Threat: "The lines are those of a generator: a JVM's compress better or worse. With larger archives every contestant would survive 30 s, and none would survive a freeze that outlasts its archives. " +
			"The writer never fails here, as nothing limits the tmpfs: a peer that holds deleted files open uses more than 48 MiB of it.",
		Columns: append(append([]column{}, lossColumns...), column{"peak", "peak memory, MiB"}, column{"crashed", "crashed"}, column{"spooled", "lines in the spool, as a multiple of its memory"}),
	}
	if os.Geteuid() != 0 {
		x.NotRun = onlyRoot
		return x, nil
	}
	return x, e.quiet.eachRound(e.rounds, func() error {
		return e.quiet.measured(x, func() ([]result, error) {
			return e.sideBySide(func(c *contestant) (figures, error) { return freezeDisk(e, c, freeze) })
		})
	})
}

func freezeDisk(e *evidence, c *contestant, d time.Duration) (figures, error) {
	v, err := e.newVolume()
	if err != nil {
		return nil, err
	}
	defer v.remove()
	p, err := e.place(c, v.Dir)
	if err != nil {
		return nil, err
	}
	defer p.remove()
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	done, peak := make(chan struct{}), make(chan float64, 1)
	go func() { peak <- peakMemory(s.PID(), done) }()
	w := lab.NewWriter(lab.Output{Path: p.log(), Seed: 3, Rate: linesASec, Files: 5, FileBytes: 8 << 20})
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	wrote := make(chan error, 1)
	go func() { wrote <- w.Run(ctx) }()
	time.Sleep(3 * time.Second)
	spooled := 0.0
	err = v.frozen(func() { time.Sleep(d); spooled = c.spooled(s, p) })
	defer s.Kill() // deferred only after the thaw, because a process that waits for a frozen disk does not end
	time.Sleep(3 * time.Second)
	cancel()
	if err := <-wrote; err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if _, err := c.end(s, p, 0); err != nil {
		return nil, err
	}
	close(done)
	b, err := c.balance(p, w)
	f := losses(b)
	f["peak"], f["crashed"] = <-peak, 0
	if s.crashed {
		f["crashed"] = 1
	}
	if spooled > 0 {
		f["spooled"] = spooled
	}
	return f, err
}

// spooled returns how many bytes of lines the spool holds for each byte of its memory, or 0 without
// a spool.
func (c *contestant) spooled(s *shipper, p place) float64 {
	if !c.ullage {
		return 0
	}
	memory := lab.InUse(filepath.Join(p.source, ".ullage", "spool"))
	lines, err := s.Metric("ullage_spooled_bytes")
	if err != nil || memory == 0 {
		return 0 // the table shows no value
	}
	return lines / float64(memory)
}

// onlyRoot is the reason why other users cannot run an experiment with a volume.
const onlyRoot = "only root can mount and freeze a file system"

// volume is a lab.Volume of 2 GiB.
type volume struct {
	*lab.Volume

	relieve func() error // makes a slow disk fast again; nil: the disk is not slow
	seen    figures      // figures of the disk while it was slow
}

func (e *evidence) newVolume(mkfs ...string) (*volume, error) {
	dir, err := os.MkdirTemp(e.disk, "volume-")
	if err != nil {
		return nil, err
	}
	v, err := lab.NewVolume(dir, "2G", "defaults", mkfs...)
	if err != nil {
		v.Remove()
	}
	return &volume{Volume: v}, err
}

// frozen freezes the disk, calls the function while, and thaws the disk.
func (v *volume) frozen(while func()) error {
	if err := v.Freeze(); err != nil {
		return err
	}
	while()
	return v.Thaw()
}

func (v *volume) remove() {
	v.Remove()
	_ = os.RemoveAll(filepath.Dir(v.Image))
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
