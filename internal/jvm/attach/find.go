package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxFound   = 16     // JVMs, and also problems
	maxEntries = 10_000 // entries of a directory that are read
)

// finding is the result of one Find so far.
type finding struct {
	Found
	known map[string]bool // IDs of JVMs that are found no matter which files they have open
	all   bool            // every JVM is found
	seen  map[inode]bool  // sockets of JVMs whose processes are visible, whether these are found or not
}

func (f *finding) problem(e *Error) {
	if len(f.Problems) < maxFound {
		f.Problems = append(f.Problems, e)
	}
}

// Found is the result of one search.
type Found struct {
	JVMs     []JVM   // JVMs that exist now, at most 16, sorted by PID
	Problems []error // the errors that may have hidden other JVMs, each an [*Error]
	Stale    []JVM   // sockets without a listener, which killed JVMs left behind; the newest come first
}

// Find returns the JVMs and the problems of [Client.Survey].
func (c *Client) Find(ctx context.Context, known ...string) (jvms []JVM, problems []error) {
	f := c.Survey(ctx, known...)
	return f.JVMs, f.Problems
}

// Survey looks for JVMs. In mode auto, the socket of a visible process is not counted as another
// JVM. A socket with two names is one JVM. A socket without a listener is not a JVM and does not
// displace a JVM. To detect such sockets, Survey connects to each socket whose process is not
// visible.
//
// If there are more than 16 JVMs, Survey prefers the JVMs whose IDs are in known, then
// visible processes and sockets on which their owner listens, and then the newest
// sockets.
func (c *Client) Survey(ctx context.Context, known ...string) Found {
	return c.survey(ctx, false, known)
}

// SurveyAll is like Survey, but also finds visible JVMs that have no file in the source open.
func (c *Client) SurveyAll(ctx context.Context, known ...string) Found {
	return c.survey(ctx, true, known)
}

func (c *Client) survey(ctx context.Context, all bool, known []string) Found {
	f := finding{known: map[string]bool{}, all: all, seen: map[inode]bool{}}
	for _, id := range known {
		f.known[id] = true
	}
	if c.cfg.Mode == Auto || c.cfg.Mode == ProcessNamespace {
		c.findProcesses(ctx, &f)
	}
	if c.cfg.Mode == Auto || c.cfg.Mode == SharedTmp {
		c.findSockets(ctx, &f)
	}
	if left := len(f.JVMs) - maxFound; left > 0 {
		f.JVMs = c.preferred(ctx, f.JVMs, f.known)
		f.problem(&Error{Kind: OtherError, JVM: f.JVMs[maxFound].String(),
			Text: fmt.Sprintf("there are more than %d JVMs", maxFound), Err: fmt.Errorf("%d are not changed", left)})
		f.JVMs = f.JVMs[:maxFound]
	}
	c.explainNone(&f)
	if err := ctx.Err(); err != nil {
		f.problem(&Error{Kind: OtherError, JVM: "processes", Text: "stopped looking", Err: err})
	}
	slices.SortFunc(f.JVMs, func(a, b JVM) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), strings.Compare(a.ID, b.ID))
	})
	return f.Found
}

// explainNone adds a problem if the configuration names one JVM and that JVM was not found.
func (c *Client) explainNone(f *finding) {
	if c.cfg.PID == 0 || c.cfg.Mode == Off {
		return
	}
	text := "no such JVM was found here"
	if len(f.Stale) > 0 {
		text, f.Stale = staleSocket, nil
	}
	if len(f.JVMs)+len(f.Problems) == 0 {
		f.problem(&Error{Kind: NoJVM, JVM: fmt.Sprintf("pid %d", c.cfg.PID), Text: text})
	}
}

// preferred sorts candidates: known JVMs first, then running JVMs, and last the other sockets,
// however new, on which another user's process may listen.
func (c *Client) preferred(ctx context.Context, jvms []JVM, known map[string]bool) []JVM {
	var first, running, rest []JVM
	for _, j := range jvms {
		switch {
		case known[j.ID]:
			first = append(first, j)
		case j.host != 0 || ctx.Err() == nil && c.listens(j):
			running = append(running, j)
		default:
			rest = append(rest, j)
		}
	}
	return slices.Concat(first, running, rest)
}

// openSocket opens the socket of a JVM: in tmp or, for a visible process, in the process's own
// /tmp.
func (j JVM) openSocket(tmp string) (*socket, error) {
	if j.host == 0 {
		fd, err := unix.Open(filepath.Join(tmp, socketName(j.PID)), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		return newSocket(fd, ours)
	}
	root, err := openRoot(j.host)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	fd, err := openIn(root, "tmp/"+socketName(j.PID), unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return newSocket(fd, func(uid uint32) bool { return uid == j.uid })
}

// problemAt returns an error about something with the given name.
func problemAt(jvm string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		e.JVM = jvm
		return e
	}
	e = &Error{Kind: OtherError, JVM: jvm, Text: "look for its attach socket", Err: err}
	if errors.Is(err, fs.ErrPermission) {
		e.Kind = NotPermitted
	}
	return e
}

var errTooMany = fmt.Errorf("more than %d entries", maxEntries)

// list returns the names in a directory. If the error is errTooMany, it returns the first
// maxEntries names.
func list(dir string) ([]string, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	names, err := d.Readdirnames(maxEntries + 1)
	if err == io.EOF {
		err = nil
	}
	if len(names) > maxEntries {
		return names[:maxEntries], errTooMany
	}
	return names, err
}

// verdict says whether a process is a JVM. A process that is not a JVM may become a JVM: its
// launcher maps libjvm.so some time after the start.
type verdict struct {
	start  uint64
	exe    string
	isJVM  bool
	formed time.Time
	until  time.Time // when to check again, if it is not a JVM: the longer the process has been known, the later
}

// isJVM returns the verdict on a process. was is the previous verdict. If that verdict still holds,
// isJVM reads only a line and a link.
func (c *Client) isJVM(pid int, was verdict) (v verdict, err error) {
	now := time.Now()
	v = verdict{formed: now}
	if v.start, err = startTime(pid); err != nil {
		return v, err
	}
	// A kernel thread has no executable.
	if v.exe, err = os.Readlink(procPath(pid, "exe")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	if v.start == was.start && v.exe == was.exe {
		if was.isJVM || now.Before(was.until) {
			return was, nil
		}
		v.formed = was.formed
	}
	v.isJVM, err = mapsJVM(pid)
	v.until = now.Add(min(max(now.Sub(v.formed), time.Second/2), time.Minute))
	return v, err
}
