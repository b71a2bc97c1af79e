package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxFound   = 16     // JVMs, and problems
	maxEntries = 10_000 // entries of a directory that are read
)

// finding is what one Find has found so far.
type finding struct {
	jvms     []JVM
	problems []error
	seen     map[inode]bool // sockets of JVMs whose processes are visible, whether they matter or not
}

func (f *finding) problem(e *Error) {
	if len(f.problems) < maxFound {
		f.problems = append(f.problems, e)
	}
}

// MoreError is the cause of the problem that there are more JVMs than Find
// returns. Most of them are usually stale sockets of killed JVMs.
type MoreError struct {
	Left  int
	Stale int // how many of Left are sockets on which nobody listens
}

func (e *MoreError) Error() string { return fmt.Sprintf("%d are not changed", e.Left) }

// Find returns the JVMs that exist now, at most 16, sorted by PID, and the
// errors that hid others, each an [*Error]. A JVM that is known by its socket
// alone may have been killed. In mode auto, the socket of a visible process is
// not a JVM of its own, and a socket with two names is one JVM.
//
// Find connects to a socket only if there are more than 16 candidates. Then it
// prefers the JVMs whose IDs are in known, then visible processes and sockets
// with a listener, and then the newest sockets.
func (c *Client) Find(ctx context.Context, known ...string) (jvms []JVM, problems []error) {
	f := finding{seen: map[inode]bool{}}
	first := map[string]bool{}
	for _, id := range known {
		first[id] = true
	}
	if c.cfg.Mode == Auto || c.cfg.Mode == ProcessNamespace {
		c.findProcesses(ctx, &f, first)
	}
	if c.cfg.Mode == Auto || c.cfg.Mode == SharedTmp {
		c.findSockets(&f)
	}
	if len(f.jvms) > maxFound {
		all, stale := c.preferred(ctx, f.jvms, first)
		f.jvms = all
		f.problem(&Error{Kind: OtherError, JVM: f.jvms[maxFound].String(),
			Text: fmt.Sprintf("there are more than %d JVMs", maxFound), Err: &MoreError{Left: len(f.jvms) - maxFound, Stale: min(len(f.jvms)-maxFound, stale)}})
		f.jvms = f.jvms[:maxFound]
	}
	if pid := c.cfg.PID; pid != 0 && len(f.jvms)+len(f.problems) == 0 && c.cfg.Mode != Off {
		f.problem(&Error{Kind: NoJVM, JVM: fmt.Sprintf("pid %d", pid), Text: "no such JVM was found here"})
	}
	if err := ctx.Err(); err != nil {
		f.problem(&Error{Kind: OtherError, JVM: "processes", Text: "stopped looking", Err: err})
	}
	slices.SortFunc(f.jvms, func(a, b JVM) int {
		if a.PID != b.PID {
			return a.PID - b.PID
		}
		return strings.Compare(a.ID, b.ID)
	})
	return f.jvms, f.problems
}

// preferred sorts candidates: known ones first, then running ones, then the
// others, and counts the others. Killed JVMs leave their sockets behind, and newer sockets, however
// many, must not hide a JVM that runs.
func (c *Client) preferred(ctx context.Context, jvms []JVM, known map[string]bool) (sorted []JVM, others int) {
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
	return slices.Concat(first, running, rest), len(rest)
}

// listens reports whether the JVM's user listens on the JVM's socket.
func (c *Client) listens(j JVM) bool {
	s, err := c.open(j)
	if err != nil {
		return false
	}
	defer s.close()
	return s.answers(j)
}

// answers reports whether the JVM, as far as the kernel shows, listens on the socket. It
// connects once, does not wait, and sends nothing. A full backlog implies a listener.
func (s *socket) answers(j JVM) bool {
	conn, err := s.connect()
	if err != nil {
		return err == unix.EAGAIN
	}
	defer conn.Close()
	return j.mustBe(conn.peer) == nil
}

// findSockets looks for sockets in the shared directory. The newest come first,
// because killed JVMs leave their sockets behind.
func (c *Client) findSockets(f *finding) {
	pids, err := c.socketPIDs()
	if err != nil && (c.cfg.Mode != Auto || !errors.Is(err, fs.ErrNotExist)) {
		kind := OtherError
		if errors.Is(err, fs.ErrPermission) {
			kind = NotPermitted
		}
		f.problem(&Error{Kind: kind, JVM: c.cfg.Tmp, Text: "look for attach sockets (--jvm-tmp)", Err: err})
	}
	var found []JVM
	for _, pid := range pids {
		path := filepath.Join(c.cfg.Tmp, socketName(pid))
		j := JVM{PID: pid}
		s, err := j.openSocket(c.cfg.Tmp)
		if err != nil {
			if !errors.Is(err, unix.ENOENT) {
				f.problem(problemAt(path, err))
			}
			continue
		}
		s.close()
		j.ID, j.socket, j.uid, j.gid = s.id.String(), s.id, s.uid, s.gid
		if !f.seen[s.id] {
			f.seen[s.id] = true
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b JVM) int { return cmp.Compare(b.socket.born, a.socket.born) })
	f.jvms = append(f.jvms, found...)
}

// Surroundings returns a number that changes when a JVM may have come or gone: with the
// processes, and with the names in the shared directory and in the source. It costs far
// less than [Client.Find]. A process that becomes a JVM does not change it by that alone.
func (c *Client) Surroundings() uint64 {
	var sum uint64
	for _, dir := range []string{c.cfg.Tmp, c.source} {
		if info, err := os.Stat(dir); err == nil {
			sum = sum*31 + uint64(info.ModTime().UnixNano())
		}
	}
	if c.cfg.Mode != Auto && c.cfg.Mode != ProcessNamespace {
		return sum
	}
	pids, _ := visible()
	for _, pid := range pids {
		sum += maphash.Comparable(c.seed, pid) // in whatever order /proc lists them
	}
	return sum
}

// socketPIDs returns the process numbers in the names of possible sockets.
func (c *Client) socketPIDs() ([]int, error) {
	if c.cfg.PID != 0 {
		return []int{c.cfg.PID}, nil
	}
	names, err := list(c.cfg.Tmp)
	var pids []int
	if err == errTooMany {
		// Process 1 is usually the container's program.
		pids, err = append(pids, 1), fmt.Errorf("%w; only some of them were searched, process 1 included", err)
	}
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, ".java_pid")
		pid, bad := parsePID(digits)
		if ok && bad == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

func socketName(pid int) string { return ".java_pid" + strconv.Itoa(pid) }

// parsePID accepts only the canonical form of a process number.
func parsePID(digits string) (int, error) {
	pid, err := strconv.Atoi(digits)
	if err != nil || pid < 1 || pid > maxPID || strconv.Itoa(pid) != digits {
		return 0, fmt.Errorf("%q is not a process ID", digits)
	}
	return pid, nil
}

// openSocket opens the socket of a JVM: in tmp, or for a process in its own
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

// problemAt returns an error about something named.
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

// list returns the names in a directory. With errTooMany, it returns the first
// maxEntries of them.
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

// verdict is whether a process is a JVM. A process that is not a JVM may become
// one: its launcher maps libjvm.so some time after the start.
type verdict struct {
	start  uint64
	exe    string
	isJVM  bool
	formed time.Time
	until  time.Time // the next check, if it is not a JVM: the older the process, the later
}

// isJVM returns the verdict on a process. was is the previous verdict. If that
// still holds, isJVM reads only a line and a link.
func (c *Client) isJVM(pid int, was verdict) (v verdict, err error) {
	now := time.Now()
	v = verdict{formed: now}
	if v.start, err = startTime(pid); err != nil {
		return v, err
	}
	// A kernel thread has none.
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
