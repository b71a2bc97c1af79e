package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/retry"
)

// findSockets looks for sockets in the shared directory. The newest come first.
func (c *Client) findSockets(ctx context.Context, f *finding) {
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
		j := JVM{PID: pid}
		s, err := j.openSocket(c.cfg.Tmp)
		if err != nil {
			if !errors.Is(err, unix.ENOENT) {
				f.problem(problemAt(filepath.Join(c.cfg.Tmp, socketName(pid)), err))
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
	f.Stale = c.stale(ctx, found, f.known)
	isStale := map[string]bool{}
	for _, j := range f.Stale {
		isStale[j.ID] = true
	}
	f.JVMs = append(f.JVMs, slices.DeleteFunc(found, func(j JVM) bool { return isStale[j.ID] })...)
}

// stale returns the sockets without a listener. A stopped or busy JVM still listens: the kernel
// accepts connections for it until its backlog is full. HotSpot listens before it gives the socket
// its name. To be sure, stale retries a young socket until the socket is refusedFor old. A
// known JVM may have a raised level, so its socket is retried whatever its age, until refusedFor has
// passed. All sockets are retried together, within this one period.
func (c *Client) stale(ctx context.Context, sockets []JVM, known map[string]bool) (stale []JVM) {
	began := time.Now()
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		var unsure []JVM
		for _, j := range sockets {
			switch {
			case !c.refuses(j):
			case j.socket.young(), known[j.ID] && time.Since(began) < refusedFor:
				unsure = append(unsure, j)
			default:
				stale = append(stale, j)
			}
		}
		if sockets = unsure; len(unsure) == 0 || retry.Sleep(ctx, pause) != nil {
			break
		}
	}
	// If ctx has ended, it is unknown whether the other sockets are stale, and they are not returned.
	slices.SortFunc(stale, func(a, b JVM) int { return cmp.Compare(b.socket.born, a.socket.born) })
	return stale
}

// refuses reports whether the socket has no listener. It connects once, does not wait, and
// sends nothing.
func (c *Client) refuses(j JVM) bool {
	s, err := c.open(j)
	if err != nil {
		return false
	}
	defer s.close()
	conn, err := s.connect()
	if err == nil {
		conn.Close()
	}
	return err == unix.ECONNREFUSED
}

// listens reports whether a process of the JVM's user listens on the JVM's socket; see
// [socket.answers].
func (c *Client) listens(j JVM) bool {
	s, err := c.open(j)
	if err != nil {
		return false
	}
	defer s.close()
	return s.answers(j)
}

// Surroundings returns a number that changes when a JVM may have started or ended: it depends on
// the processes and on the names in the shared directory and in the source. It costs far less than
// [Client.Find]. If a process becomes a JVM, that alone does not change the number.
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
		sum += maphash.Comparable(c.seed, pid) // the sum does not depend on the order in which /proc lists them
	}
	return sum
}

// socketPIDs returns the process IDs in the names of possible sockets.
func (c *Client) socketPIDs() ([]int, error) {
	if c.cfg.PID != 0 {
		return []int{c.cfg.PID}, nil
	}
	names, err := list(c.cfg.Tmp)
	var pids []int
	if err == errTooMany {
		// Process 1 is usually the container's program.
		pids, err = append(pids, 1), fmt.Errorf("%w; only some of them were searched, including process 1", err)
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

// parsePID accepts only the canonical form of a process ID.
func parsePID(digits string) (int, error) {
	pid, err := strconv.Atoi(digits)
	if err != nil || pid < 1 || pid > maxPID || strconv.Itoa(pid) != digits {
		return 0, fmt.Errorf("%q is not a process ID", digits)
	}
	return pid, nil
}
