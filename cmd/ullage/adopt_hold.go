package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/handover"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
)

// The process that holds the copy and the process that fetches it communicate through these files next to the
// destination. Both run in one container, and neither listens on the network.
const (
	overMark = ".over" // the adoption has ended, and the destination is complete
	stopMark = ".stop" // the adoption is to end now
)

const (
	// copyEvery is how often a fetch looks for newly shipped data.
	copyEvery = time.Second

	// reportEvery is the shortest time between two reports of a growing copy. Making the reports takes at most
	// 1/reportShare of the time.
	reportEvery = 5 * time.Second
	reportShare = 20

	// farewell is how long a fetch has to collect the rest of the copy when the container is stopped.
	farewell = 5 * time.Second
)

// errNotFetched is the error of a fetch without a confirmation by the reader. The destination is
// kept.
var errNotFetched = errors.New("the reader did not confirm that it has everything: fetch it again")

// leaving has the flags for a container that ends with the adoption: how the copy leaves the container.
type leaving struct {
	hold  time.Duration // how long to wait for a fetch after the adoption; 0: no fetch is expected
	fetch bool          // hand over the copy of another process
	now   bool          // make the other process end its adoption at once
	who   bool          // only print the owner of the JVM
}

func (l *leaving) flags(fs *flag.FlagSet) {
	settings.DurationVar(fs, &l.hold, "hold", 0, "after the adoption, wait up to this `DURATION` for 'ullage adopt --fetch' to collect --dest")
	fs.BoolVar(&l.fetch, "fetch", false, "write --dest to stdout as a tar, as it grows until the end of the adoption, with a report of it in "+handover.Report+", after a line on stdin with what is there already (at first \"[]\"); remove it once stdin says \""+handover.Confirmation+"\"")
	fs.BoolVar(&l.now, "now", false, "with --fetch: end the adoption now")
	fs.BoolVar(&l.who, "who", false, "print the user and group of the JVM as UID:GID, and adopt nothing")
}

// validate returns the errors in the flags. adopts says whether the arguments name JVMs.
func (l *leaving) validate(dest string, adopts bool) (bad []error) {
	switch {
	case l.who && (adopts || l.hold != 0 || l.fetch || l.now):
		bad = append(bad, errors.New("--who adopts nothing: use it alone"))
	case l.now && !l.fetch:
		bad = append(bad, errors.New("--now is for --fetch"))
	case l.fetch && (adopts || l.hold != 0):
		bad = append(bad, errors.New("--fetch adopts nothing: use it with --dest only"))
	}
	if (l.fetch || l.hold != 0) && dest == "" {
		bad = append(bad, errors.New("--hold and --fetch need the same --dest"))
	}
	if l.hold < 0 {
		bad = append(bad, errors.New("--hold is negative"))
	}
	return bad
}

// answer runs --who or --fetch, which adopt nothing.
func (l *leaving) answer(ctx context.Context, dest string, e cli.Env) error {
	if l.who {
		return tell(e)
	}
	return l.take(ctx, dest, e)
}

// tell prints the owner of the JVM in this container.
func tell(e cli.Env) error {
	users, err := attach.Users()
	if err != nil {
		return err
	}
	if len(users) != 1 {
		return fmt.Errorf("the JVMs here run as %d different users: %v", len(users), users)
	}
	_, err = fmt.Fprintln(e.Stdout, users[0])
	return err
}

// forget removes the marks of an earlier adoption into the same destination.
func (l *leaving) forget(dest string) error {
	if l.hold == 0 {
		return nil
	}
	for _, mark := range []string{overMark, stopMark} {
		if err := os.Remove(dest + mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("begin a hand-over: %w", err)
		}
	}
	return nil
}

// stopped reports whether a fetch wants the adoption to end.
func (l *leaving) stopped(dest string) bool { return l.hold != 0 && exists(dest+stopMark) }

// linger gives a fetch time to end. It waits until the fetch has removed the destination or the time is over. If ctx
// ends, because the pod is being deleted, little time is left.
func (l *leaving) linger(ctx context.Context, dest string, out *notes) error {
	if l.hold == 0 {
		return nil
	}
	if err := os.WriteFile(dest+overMark, nil, 0o600); err != nil {
		return fmt.Errorf("begin a hand-over: %w", err)
	}
	out.say("waiting %s for a fetch of %s", printable.Seconds(l.hold.Seconds()), dest)
	taken := func() bool { return !exists(dest) }
	within := func(ctx context.Context, most time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		return until(ctx, taken)
	}
	err := within(ctx, l.hold)
	if ctx.Err() != nil {
		err = within(context.WithoutCancel(ctx), min(l.hold, farewell))
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s was not fetched before this process had to end", printable.Line(dest))
	default:
		return fmt.Errorf("%s was not fetched within %s", printable.Line(dest), l.hold)
	}
}

// exists reports whether path exists, as a file of any kind.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// until polls a condition that another process fulfils: in some containers, the file system cannot be watched.
func until(ctx context.Context, is func() bool) error {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-looks.C:
		}
	}
	return nil
}

// take writes the destination to stdout while it grows, then removes it once stdin confirms its arrival. The end of stdin
// ends the fetch, because the reader is gone.
func (l *leaving) take(ctx context.Context, dest string, e cli.Env) error {
	in := bufio.NewReader(io.LimitReader(e.Stdin, int64(handover.MaxAsked+len(handover.Confirmation)+1)))
	has, err := handover.Asked(in)
	if err != nil {
		return err
	}
	r := &reporting{dest: dest}
	defer r.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	confirmed := make(chan bool, 1)
	go func() { // ends with the process at the latest: a read of stdin cannot be cancelled
		line, _ := in.ReadString('\n')
		confirmed <- strings.TrimSpace(line) == handover.Confirmation
		cancel()
	}()
	if err := until(ctx, func() bool { return exists(dest) }); err != nil {
		return fmt.Errorf("wait for the adoption: %w", err)
	}
	if l.now { // not earlier: a process that begins an adoption removes the marks before it makes the destination
		if err := os.WriteFile(dest+stopMark, nil, 0o600); err != nil {
			return fmt.Errorf("end the adoption: %w", err)
		}
	}
	if err := handover.Write(e.Stdout, dest, has, r.looks(ctx)); err != nil {
		return fmt.Errorf("hand over %s: %w", printable.Line(dest), err)
	}
	if !<-confirmed {
		return errNotFetched
	}
	if err := os.RemoveAll(dest); err != nil {
		return fmt.Errorf("remove what was fetched: %w", err)
	}
	return nil
}

// reporting keeps a report of a growing copy inside that copy, as [handover.Report], so that a reader has a report even
// if the container ends before the adoption does.
type reporting struct {
	dest  string
	begun time.Time
	made  chan []byte // receives the report that is being made; nil: no report is being made
	due   time.Time   // when the next report is to begin
}

// looks returns a function that waits until it is time to look at the destination again, and reports whether the
// adoption has ended. If it has, the report in the destination covers the whole copy.
func (r *reporting) looks(ctx context.Context) func() (over bool, err error) {
	return func() (bool, error) {
		over := exists(r.dest + overMark)
		if !over {
			select {
			case <-ctx.Done():
				return false, ctx.Err()
			case <-time.After(copyEvery):
				over = exists(r.dest + overMark)
			}
		}
		r.renew(ctx, over)
		return over, nil
	}
}

// renew saves a report that is finished and begins the next one if it is due. If last is set, renew makes the report of
// the whole copy and waits for it.
func (r *reporting) renew(ctx context.Context, last bool) {
	if last {
		r.end() // a report that is being made may lack the end of the copy
	}
	select {
	case text := <-r.made:
		r.save(text)
	default:
	}
	if r.made == nil && (last || time.Now().After(r.due)) {
		r.begin(ctx)
	}
	if last {
		r.save(<-r.made)
	}
}

// begin begins to make a report.
func (r *reporting) begin(ctx context.Context) {
	r.begun, r.made = time.Now(), make(chan []byte, 1)
	go func() {
		var text bytes.Buffer
		if figures, err := report.Read(ctx, copies(r.dest), report.Config{}); err == nil { // otherwise the JVM has logged nothing yet
			_ = view.JSON(&text, figures)
		}
		r.made <- text.Bytes()
	}()
}

// save replaces the report in the copy, unless the new one is empty. An error is ignored, because a reader who lacks
// the report can make one from the copy.
func (r *reporting) save(text []byte) {
	r.made, r.due = nil, time.Now().Add(max(reportEvery, reportShare*time.Since(r.begun)))
	if len(text) > 0 {
		_ = os.WriteFile(filepath.Join(r.dest, handover.Report), text, 0o600)
	}
}

// end waits for a report that is being made and drops it.
func (r *reporting) end() {
	if r.made != nil {
		<-r.made
		r.made = nil
	}
}

// copies returns the copies in a destination: several JVMs have one directory each.
func copies(dest string) []string {
	entries, err := os.ReadDir(dest)
	var all []string
	for _, entry := range entries {
		if _, bad := strconv.ParseUint(entry.Name(), 10, 32); err == nil && bad == nil {
			all = append(all, filepath.Join(dest, entry.Name()))
		}
	}
	if len(all) == 0 {
		return []string{dest}
	}
	return all
}
