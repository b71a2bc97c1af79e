package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// scan is one pass over the processes.
type scan struct {
	client *Client
	boot   string          // changes with every boot
	names  map[string]bool // the files in the source
	owners map[uint32]bool // owners of the files in the source; nil until needed
	found  *finding
}

// findProcesses looks for JVMs among the visible processes. It ignores processes that have no file
// in the source open, unless the configuration names the process or all JVMs are looked for.
func (c *Client) findProcesses(ctx context.Context, f *finding) {
	c.scan.Lock()
	defer c.scan.Unlock()
	pids, err := visible()
	if c.cfg.PID != 0 {
		pids, err = []int{c.cfg.PID}, nil
	}
	if err != nil {
		f.problem(&Error{Kind: OtherError, JVM: "/proc", Text: "look for processes", Err: err})
	}
	boot, _ := bootID() // without it, Ended never reports the end of a run
	s := scan{client: c, boot: boot, names: map[string]bool{}, found: f}
	files, _ := list(c.source) // a missing source has no files
	for _, name := range files {
		s.names[name] = true
	}
	was := c.verdicts
	c.verdicts = make(map[int]verdict, len(was))
	for _, pid := range pids {
		if ctx.Err() != nil {
			return
		}
		if err := s.look(pid, was[pid]); err != nil {
			s.explain(pid, err)
		}
	}
}

// visible returns the IDs of the processes that this process may see.
func visible() (pids []int, err error) {
	entries, err := list("/proc")
	for _, name := range entries {
		if pid, err := parsePID(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// look examines one process.
func (s *scan) look(pid int, was verdict) error {
	if !s.isNamed(pid) && !ownedByUs(pid) {
		if s.found.all || s.writes(pid) {
			return unix.EPERM
		}
		return nil
	}
	v, err := s.client.isJVM(pid, was)
	if err != nil {
		return err
	}
	s.client.verdicts[pid] = v
	if !v.isJVM {
		return nil
	}
	st, err := readStatus(pid)
	if err != nil {
		return err
	}
	if st.threads < 2 {
		return nil // a child of a JVM between fork and exec
	}
	j := JVM{
		ID:  fmt.Sprintf("%s/%d/%d", s.boot, pid, v.start),
		PID: st.pid, host: pid, start: v.start, uid: st.uid, gid: st.gid,
	}
	socket, problem := j.openSocket("")
	if problem == nil {
		socket.close()
		j.socket = socket.id
		s.found.seen[j.socket] = true
	}
	if !s.isNamed(pid) && !s.found.all && !s.found.known[j.ID] {
		if holds, err := s.holds(pid); err != nil || !holds {
			return err
		}
	}
	if problem != nil && !errors.Is(problem, unix.ENOENT) {
		return problem
	}
	s.found.JVMs = append(s.found.JVMs, j)
	return nil
}

func (s *scan) isNamed(pid int) bool { return s.client.cfg.PID == pid }

func ownedByUs(pid int) bool {
	uid, ok := ownerOf(fmt.Sprintf("/proc/%d", pid))
	return ok && ours(uid)
}

// writes reports whether a process of another user may write to the source: that is assumed if the
// user owns a file there. We may not see which files such a process has open.
func (s *scan) writes(pid int) bool {
	owner, ok := ownerOf(fmt.Sprintf("/proc/%d", pid))
	if !ok {
		return false
	}
	if s.owners == nil {
		s.owners = map[uint32]bool{}
		for name := range s.names {
			if uid, ok := ownerOf(filepath.Join(s.client.source, name)); ok {
				s.owners[uid] = true
			}
		}
	}
	return s.owners[owner]
}

func ownerOf(path string) (uint32, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st.Uid, ok
}

// holds reports whether a process has a file in the source open. It follows a link of /proc/PID/fd
// only if the text of the link ends in the name of such a file, because other file systems may
// hang.
func (s *scan) holds(pid int) (bool, error) {
	dir := procPath(pid, "fd")
	fds, err := list(dir)
	if err != nil && err != errTooMany {
		return false, err
	}
	for _, fd := range fds {
		text, _ := os.Readlink(dir + "/" + fd)
		name := path.Base(text)
		if text == "" || !s.names[name] {
			continue
		}
		var open, named unix.Statx_t
		if statx(unix.AT_FDCWD, dir+"/"+fd, 0, &open) == nil &&
			statx(unix.AT_FDCWD, filepath.Join(s.client.source, name), unix.AT_SYMLINK_NOFOLLOW, &named) == nil &&
			named.Mode&unix.S_IFMT == unix.S_IFREG && inodeOf(&open) == inodeOf(&named) {
			return true, nil
		}
	}
	return false, nil
}

// explain turns an error into a problem, unless the process has just ended or does not
// appear to be a JVM.
func (s *scan) explain(pid int, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return
	}
	jvm := fmt.Sprintf("pid %d", pid)
	e := problemAt(jvm, err)
	if e.Kind == NotPermitted && e.Err != nil {
		// We may not see its mappings and open files, so its name decides whether it is a JVM.
		comm, _ := readProc(pid, "comm")
		st, err := readStatus(pid)
		if !s.isNamed(pid) && strings.TrimSpace(comm) != "java" || err != nil {
			return
		}
		e.Text = whoMay(st.uid, st.gid)
	}
	s.found.problem(e)
}
