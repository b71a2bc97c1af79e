package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/cli"
	"github.com/ullage/ullage/internal/printable"
)

const (
	catPoll   = 200 * time.Millisecond
	catBuffer = 256 << 10
)

// cat is one run of `ullage cat`. Its methods, and those of what it holds,
// return errors of the output or of the context alone: what cannot be read is
// told on stderr, remembered in failed, and passed over.
type cat struct {
	cfg    catConfig
	stdout io.Writer
	out    *bufio.Writer // into stdout, by way of the screen if it is one
	screen *cli.Screen
	stderr io.Writer
	items  []catItem
	gaps   catGaps // listed so far
	failed bool    // not everything could be read
}

// catItem is what arguments stand for: a destination, whose streams come and
// go, or else one series.
type catItem struct {
	dest   string
	series []*catSeries // by name
}

func newCat(cfg catConfig, e cli.Env) *cat {
	c := &cat{cfg: cfg, stdout: e.Stdout, stderr: e.Stderr, screen: cli.NewScreen(e.Stdout)}
	if c.screen != nil {
		c.out = bufio.NewWriterSize(c.screen, catBuffer)
	} else {
		c.out = bufio.NewWriterSize(e.Stdout, catBuffer)
	}
	return c
}

// run prints everything that find found and then, if asked to, follows it
// until ctx ends or nobody reads the output any more.
func (c *cat) run(ctx context.Context) (err error) {
	defer func() {
		if endErr := c.end(); err == nil || errors.Is(err, context.Canceled) && endErr != nil {
			err = endErr
		}
	}()
	if err := c.pass(ctx); err != nil || !c.cfg.follow {
		return err
	}
	if c.cfg.gaps && c.gaps.n == 0 {
		c.note("no gaps yet; waiting for one")
	}
	tick := time.NewTicker(catPoll)
	defer tick.Stop()
	for {
		if err := c.out.Flush(); err != nil {
			return err
		}
		if hungUp(c.stdout) {
			return syscall.EPIPE
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := c.pass(ctx); err != nil {
			return err
		}
	}
}

// pass prints what is there and not yet printed.
func (c *cat) pass(ctx context.Context) error {
	for i := range c.items {
		item := &c.items[i]
		if item.dest != "" {
			c.refresh(item)
		}
		for _, s := range item.series {
			err := s.catchUp(ctx)
			if err == nil && !c.cfg.follow {
				err = s.end()
			}
			if err != nil {
				return err
			}
		}
	}
	c.printGaps()
	return nil
}

// end prints what is held back, and closes all files.
func (c *cat) end() error {
	var errs []error
	for _, item := range c.items {
		for _, s := range item.series {
			errs = append(errs, s.end())
		}
	}
	c.printGaps()
	errs = append(errs, c.out.Flush())
	if c.screen != nil {
		errs = append(errs, c.screen.Flush())
	}
	return errors.Join(errs...)
}

// note tells something on stderr, behind all that was printed before it.
func (c *cat) note(format string, args ...any) {
	_ = c.out.Flush() // an error comes again with the next write
	fmt.Fprintf(c.stderr, "ullage cat: %s\n", printable.Line(fmt.Sprintf(format, args...)))
}

// complain notes that something cannot be read.
func (c *cat) complain(format string, args ...any) {
	c.failed = true
	c.note(format, args...)
}

// catName renders a name for a message: as it is, or quoted if it could be
// mistaken for something else.
func catName(name string) string {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || strings.ContainsRune(` "'\`, r) || r == unicode.ReplacementChar
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// isClosedPipe says that nobody reads the output any more. For stdout itself
// the runtime has ended the process by then, with SIGPIPE as usual.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// hungUp says the same of an output to which there is nothing to write.
func hungUp(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(file.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
