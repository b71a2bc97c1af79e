package cat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/sink/s3"
)

const bufferSize = 256 << 10

// Printer prints what was persisted. Its methods return only errors of the output and of
// the context. Anything that cannot be read is reported on stderr, recorded in failed, and
// skipped. A Printer is not safe for concurrent use.
type Printer struct {
	cfg     Config
	stdout  io.Writer
	out     *bufio.Writer // writes to stdout
	screen  *cli.Screen   // if stdout is a terminal: writes to out
	text    io.Writer     // screen if it is set, or else out
	stderr  io.Writer
	items   []item
	gaps    gapTable
	marks   markTable
	live    bool    // everything that was there at the start has been printed
	colored bool    // lines are colored by level
	named   bool    // there are or have been several series, so each line begins with the name of its series
	amid    *series // the series of the last printed line, if that line has not ended
	buf     []byte  // reused for each line
	split   []byte  // the beginning of a character whose rest is in the next piece
	skip    int     // the number of lines to skip: they come before the last Tail lines
	failed  bool    // something could not be read

	memory

	progress bool // stderr is a terminal: the progress of a long read is shown
}

// memory records what the series hold in memory.
type memory struct {
	open    []*series // at most maxOpen
	keep    int       // the most bytes that one parked series may keep
	keepAll int       // the most bytes that all parked series may keep together
	indexed int       // bytes of all seek files
}

// item is what one or more arguments name: a destination, whose streams appear and
// disappear, a bucket, or one series.
type item struct {
	dest   string
	series []*series // by name
	bucket *s3.Reader
}

// New returns a Printer that prints to stdout and reports on stderr.
func New(cfg Config, stdout, stderr io.Writer) *Printer {
	p := &Printer{cfg: cfg, stdout: stdout, stderr: stderr, progress: cli.NewScreen(stderr) != nil, memory: memory{keepAll: keepAll}}
	p.out = bufio.NewWriterSize(stdout, bufferSize)
	p.text = p.out
	if p.screen = cli.NewScreen(stdout); p.screen != nil {
		p.screen.Via(p.out)
		p.text = p.screen
	}
	p.colored = p.screen != nil && cfg.Color && !cfg.JSON && !cfg.listing()
	return p
}

// Failed reports whether something was not found or could not be read. It is also true if a
// gap could not be listed because its marker is not in the copy yet.
func (p *Printer) Failed() bool { return p.failed || p.gaps.lacks.gaps() }

// Run prints everything that Find has found and then, with Follow, everything that is appended,
// until ctx ends or the output is no longer read. It closes all files.
func (p *Printer) Run(ctx context.Context) (err error) {
	if len(p.items) == 0 {
		return nil
	}
	defer func() {
		if endErr := p.end(); err == nil || errors.Is(err, context.Canceled) && endErr != nil {
			err = endErr
		}
		if p.cfg.listing() && (err == nil || p.cfg.Follow && errors.Is(err, context.Canceled)) {
			text := p.gaps.summary(p.failed)
			if p.cfg.Marks {
				text = p.marks.summary(text)
			}
			if p.cfg.Tail > 0 {
				text = "of the last " + printable.Plural(p.cfg.Tail, "row") + ": " + text
			}
			p.note("%s", text)
		}
	}()
	if err := p.gaps.lacks.ask(ctx, p.cfg, p.items); err != nil {
		return err
	}
	if err := p.seekTail(ctx); err != nil {
		return err
	}
	if err := p.pass(ctx); err != nil || !p.cfg.Follow {
		return err
	}
	p.live = true
	if p.cfg.listing() && p.gaps.n+p.gaps.jvm+p.marks.n == 0 {
		p.note("no %s yet; waiting for one", p.cfg.listed())
	}
	notice := newNotice(cmp.Or(p.cfg.poll, pollEvery), !p.cfg.unwatched)
	defer notice.close()
	for last := time.Duration(0); ; {
		notice.watch(directories(p.items))
		if err := p.out.Flush(); err != nil {
			return err
		}
		if hungUp(p.stdout) {
			return syscall.EPIPE
		}
		if err := notice.wait(ctx, last); err != nil {
			return err
		}
		began := time.Now()
		if err := p.pass(ctx); err != nil {
			return err
		}
		last = time.Since(began)
	}
}

// pass prints everything that has not been printed yet.
func (p *Printer) pass(ctx context.Context) error {
	for i := range p.items {
		if item := &p.items[i]; item.dest != "" {
			p.refresh(item)
		}
	}
	all := p.series()
	p.named = p.named || len(all) > 1
	for _, s := range all {
		s.pick.dates.Timed = s.pick.dates.Timed || p.named || p.cfg.Follow || p.colored
		s.pick.dates.Live = p.live
	}
	if err := p.printSeries(ctx, all); err != nil {
		return err
	}
	for _, item := range p.items {
		if item.bucket == nil {
			continue
		}
		if err := p.printBucket(ctx, item.bucket); err != nil {
			return err
		}
	}
	p.printRows()
	return nil
}

// printSeries prints everything in the series that has not been printed yet. Only segments and
// plain files can be parked. So the other series are printed first, one after the other.
func (p *Printer) printSeries(ctx context.Context, all []*series) error {
	if p.verbatim() && len(all) == 1 {
		return all[0].copy(ctx)
	}
	var parkable []*series
	for _, s := range all {
		if !s.isForeign() {
			parkable = append(parkable, s)
			continue
		}
		if err := p.merge(ctx, []*series{s}); err != nil {
			return err
		}
	}
	return p.merge(ctx, parkable)
}

// series returns all series, in the order in which they were found.
func (p *Printer) series() []*series {
	var all []*series
	for _, item := range p.items {
		all = append(all, item.series...)
	}
	return all
}

// end prints the incomplete lines and closes all files.
func (p *Printer) end() error {
	var errs []error
	for _, s := range p.series() {
		s.finish()
		errs = append(errs, s.drain())
	}
	p.printRows()
	if p.screen != nil {
		errs = append(errs, p.screen.Flush())
	}
	errs = append(errs, p.out.Flush())
	return errors.Join(errs...)
}

// note reports something on stderr, after everything printed before it.
func (p *Printer) note(format string, args ...any) {
	_ = p.out.Flush() // the next write will return the same error
	fmt.Fprintf(p.stderr, "ullage logs: %s\n", printable.Line(fmt.Sprintf(format, args...)))
}

// complain reports that something cannot be read, and sets failed.
func (p *Printer) complain(format string, args ...any) {
	p.failed = true
	p.note(format, args...)
}

// IsUnread reports whether an error of Run means that the output is no longer read. (If the
// output is stdout, SIGPIPE ends the process before that.)
func IsUnread(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// hungUp reports whether an output to which nothing is being written has lost its reader.
func hungUp(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(file.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
