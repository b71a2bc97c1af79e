package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/handover"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	startPatience = 2 * time.Minute // long enough to pull the image
	startEvery    = 500 * time.Millisecond
	fetchAgain    = 2 * time.Second
	finishTime    = 10 * time.Second // how long the container's log may take to end once the container has ended
)

// partPattern names a copy that is not complete.
const partPattern = ".ullage-adopted-*"

// adopter is an ephemeral container that adopts a JVM.
type adopter struct {
	sidecar
	out io.Writer // shown to the user; safe for concurrent use
}

// shared is a writer that several goroutines may use.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// lasts returns how long the container adopts the JVM.
func (a adopter) lasts() time.Duration {
	lasts, err := settings.ParseDuration(a.setting("for"))
	if err != nil || ask.CheckFor(lasts) != nil {
		return ask.MaxRaise // another program has added the container
	}
	return lasts
}

// bringBack copies the shipped files into a new directory until the adoption ends. It returns the figures of a report,
// or nil if the JVM logged nothing. After a Ctrl-C, it first ends the adoption. If a connection breaks, it tries again
// as long as the container holds the copy. If the container ends first, the directory has what had arrived by then, and
// the figures and the error say so.
func (a adopter) bringBack(ctx context.Context, dest string, within time.Duration) (*view.Report, error) {
	if err := a.started(ctx); err != nil {
		return nil, err
	}
	part, err := os.MkdirTemp(filepath.Dir(dest), partPattern)
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(part) // has no effect once the directory has its final name
	finish, stop := a.follow(ctx)
	defer stop()
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	waiting, now := ctx, false // until a Ctrl-C
	for {
		figures, err := a.fetch(waiting, copied{part, dest}, now)
		if err == nil {
			finish()
			return figures, nil
		}
		if !now && ctx.Err() != nil {
			fmt.Fprintf(a.out, "kubectl ullage adopt: releasing the JVM; another Ctrl-C leaves the release to the container, and what has arrived stays in %s\n", printable.Line(filepath.Clean(part)))
			waiting, now = bound, true
			continue
		}
		if ended := a.ended(bound); ended != nil {
			finish() // the container's log says why
			return a.keep(copied{part, dest}, ended)
		}
		if errors.Is(err, handover.ErrRefused) {
			return nil, err
		}
		if bound.Err() != nil {
			return a.keep(copied{part, dest}, err)
		}
		fmt.Fprintf(a.out, "kubectl ullage adopt: trying again: %s\n", printable.Line(err.Error()))
		select {
		case <-waiting.Done():
		case <-time.After(fetchAgain):
		}
	}
}

// started waits until the container runs.
func (a adopter) started(ctx context.Context) error {
	return a.await(ctx, func(st containerStatus) (bool, error) {
		if end := st.State.Terminated; end != nil {
			return false, endedError(*end, a.words(ctx))
		}
		return st.State.Running != nil, nil
	})
}

// await waits until wanted accepts the container's state.
func (a adopter) await(ctx context.Context, wanted func(containerStatus) (bool, error)) error {
	limit, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	last := errors.New("the node has not reported on it")
	for {
		st, err := a.state(limit)
		if err == nil {
			is, err := wanted(st)
			if is || err != nil {
				return err
			}
			if st.State.Waiting != nil {
				last = fmt.Errorf("%s: %s", st.State.Waiting.Reason, st.State.Waiting.Message)
			}
		} else if limit.Err() == nil {
			last = err
		}
		select {
		case <-limit.Done():
			return fmt.Errorf("it is not running yet: %s; if it starts later, it ends by itself", printable.Line(last.Error()))
		case <-time.After(startEvery):
		}
	}
}

// state returns the state of the container, or the zero value if the node has not reported it.
func (a adopter) state(ctx context.Context) (containerStatus, error) {
	p, err := getAdoptable(ctx, a.cluster, a.pod)
	if err != nil {
		return containerStatus{}, err
	}
	for _, st := range p.Status.EphemeralContainerStatuses {
		if st.Name == a.container.Name {
			return st, nil
		}
	}
	return containerStatus{}, nil
}

// ended returns an error that says how the container ended, or nil if the container still runs or its state is unknown.
func (a adopter) ended(ctx context.Context) error {
	st, err := a.state(ctx)
	switch {
	case err == nil && st.Name == "", err != nil && strings.Contains(err.Error(), "(NotFound)"):
		return errors.New("its pod was deleted")
	case err != nil || st.State.Terminated == nil:
		return nil
	}
	return endedError(*st.State.Terminated, "")
}

func endedError(end stopped, words string) error {
	if end.Message != "" {
		words = end.Message
	}
	if words = strings.TrimSpace(words); words == "" {
		words = "it gave no reason; the JVM's container may have ended"
	}
	if end.ExitCode == exitSigkill {
		words = "it was killed, like every process when the JVM's container ends; its last words were: " + words
	}
	return fmt.Errorf("it has ended with exit code %d: %s", end.ExitCode, printable.Text(words, maxComplaint))
}

// words returns the last lines of the container's log.
func (a adopter) words(ctx context.Context) string {
	out, err := a.cluster.run(ctx, maxStatus, "logs", "pod/"+a.pod, "--container="+a.container.Name, "--tail=10")
	if err != nil {
		return ""
	}
	return string(out)
}

// follow shows the container's log, which reports the progress. finish waits, up to finishTime, for the end of the log
// of a container that has ended or is about to end. stop ends kubectl without waiting for the rest of the log.
func (a adopter) follow(ctx context.Context) (finish, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := a.cluster.command(ctx, "logs", "--follow", "pod/"+a.pod, "--container="+a.container.Name)
	screen := cli.Escaping(a.out)
	cmd.Stdout = screen
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Run() // a user without the right to read logs does not see them
		_ = screen.Flush()
	}()
	stop = func() { cancel(); <-done }
	finish = func() {
		select {
		case <-done:
		case <-time.After(finishTime):
			stop()
		}
	}
	return finish, stop
}

// copied is the directory on this machine that receives the copy.
type copied struct {
	part string // its name while the copy is incomplete
	dest string // its name afterwards
}

// name gives the directory its final name.
func (c copied) name() error {
	if _, err := os.Lstat(c.dest); err == nil {
		return fmt.Errorf("%w: %s already exists", handover.ErrRefused, printable.Line(c.dest))
	}
	if err := os.Rename(c.part, c.dest); err != nil {
		return fmt.Errorf("name the directory: %w", err)
	}
	return nil
}

// figures takes the figures of the report out of the copy. They are nil if there is no usable report.
func (a adopter) figures(c copied) *view.Report {
	file := filepath.Join(c.part, handover.Report)
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Size() > maxReport {
		err = fmt.Errorf("it is longer than %s", printable.Bytes(maxReport))
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(file)
	}
	var figures *view.Report
	if err == nil {
		figures, err = view.Decode(text)
	}
	if err != nil {
		fmt.Fprintf(a.out, "kubectl ullage adopt: no report ('ullage report' can make one from the copy): %s\n", printable.Line(err.Error()))
	}
	_ = os.Remove(file) // its figures go into the page that is shown
	return figures
}

// keep keeps what arrived before the copying failed and adds its location to the error.
func (a adopter) keep(c copied, why error) (*view.Report, error) {
	entries, err := os.ReadDir(c.part)
	if err == nil && len(entries) == 0 {
		return nil, why
	}
	figures := a.figures(c)
	if figures != nil {
		figures.Complete = false
		figures.Problems = append(figures.Problems, view.Problem{Kind: view.ProblemCut, Count: 1, Loses: true,
			Text: "the copy was cut short, and the figures are those of an earlier report: " + printable.Line(why.Error())})
	}
	if err == nil {
		err = c.name()
	}
	if err != nil {
		return figures, errors.Join(why, err)
	}
	return figures, fmt.Errorf("%w; what had arrived is in %s, except for about the last two seconds: 'ullage report' and 'ullage logs' read it", why, printable.Line(c.dest))
}

// fetch copies the shipped files until the adoption ends, and confirms to the container that all of them have arrived.
// The copy gets its final name once it is complete.
func (a adopter) fetch(ctx context.Context, c copied, now bool) (figures *view.Report, err error) {
	args := []string{"adopt", "--fetch", "--dest=" + adoptedDir}
	if now {
		args = append(args, "--now")
	}
	var has bytes.Buffer
	if err := handover.Ask(&has, c.part); err != nil {
		return nil, err
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := a.cluster.command(call, a.execWithStdin(args...)...)
	complaint := &head{limit: maxComplaint, over: func() {}}
	cmd.Stderr = complaint
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for kubectl: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for kubectl: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, a.cluster.notRun(err)
	}
	_, _ = stdin.Write(has.Bytes()) // this fails only if kubectl has ended, and then receive fails too
	figures, err = a.receive(out, c)
	short := errors.Is(err, io.ErrUnexpectedEOF) // kubectl has ended and reports why
	switch {
	case err == nil:
		// If the confirmation gets lost, the container ends a little later by itself.
		_, _ = io.WriteString(stdin, handover.Confirmation+"\n")
	case !short:
		cancel() // otherwise kubectl would wait for a reader
	}
	stdin.Close()
	ended := cmd.Wait()
	switch {
	case err == nil || errors.Is(err, handover.ErrRefused):
		return figures, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case short && ended != nil:
		return nil, a.cluster.explain(ended, string(complaint.kept))
	}
	return nil, err
}

// receive unpacks a tar.
func (a adopter) receive(from io.Reader, c copied) (*view.Report, error) {
	if err := handover.Read(bufio.NewReader(from), c.part); err != nil {
		return nil, err
	}
	return a.figures(c), c.name()
}
