package attach

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

// maxMounts bounds how many mounts of a process are compared with the source.
const maxMounts = 64

// SourcePath returns the path of the source in the JVM's view. If only the JVM's socket is known,
// the source must have the same path in both containers, which cannot be checked from here.
func (c *Client) SourcePath(j JVM) (string, error) {
	source, err := filepath.Abs(c.source)
	if err != nil {
		return "", fmt.Errorf("find the source: %w", err)
	}
	if j.host == 0 {
		return source, nil
	}
	var st unix.Statx_t
	if err := statx(unix.AT_FDCWD, source, 0, &st); err != nil {
		return "", fmt.Errorf("find the source: %w", err)
	}
	places := []string{source}
	if real, err := filepath.EvalSymlinks(source); err == nil && real != source {
		places = append(places, real)
	}
	name := filepath.Base(source)
	// If the source is given as the path of an open descriptor, /proc/self/fd/N, its directory may
	// be outside our view.
	if link, err := os.Readlink(source); err == nil && filepath.IsAbs(link) {
		places, name = append(places, link), filepath.Base(link)
	}
	mounts, err := mountsOf(j.host, unix.Mkdev(st.Dev_major, st.Dev_minor))
	for _, at := range mounts {
		places = append(places, at, filepath.Join(at, name))
	}
	for _, dir := range places {
		if c.isSource(j, dir+"/") {
			return dir, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("find the source where the JVM runs: %w", err)
	}
	return "", fmt.Errorf("it does not see %s: mount that into its container", source)
}

// mountsOf returns the mount points of a file system in the view of a process. dev is the device of
// the file system.
func mountsOf(pid int, dev uint64) (places []string, err error) {
	f, err := os.Open(procPath(pid, "mountinfo"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	want := fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	lines := bufio.NewScanner(io.LimitReader(f, maxMaps))
	for lines.Scan() && len(places) < maxMounts {
		// number, parent, device, root, mount point (proc_pid_mountinfo(5))
		if fields := strings.Fields(lines.Text()); len(fields) > 4 && fields[2] == want {
			places = append(places, kernel.MountPoint(fields[4]))
		}
	}
	return places, lines.Err()
}

// ListenerBeside returns the process that listens on a socket. path is the path of the socket below
// the directory of an output's file, in the JVM's view. pid is 0 if the process is not visible
// here. ListenerBeside connects once, does not wait, and sends nothing. The JVM's own process must
// be visible.
func (j JVM) ListenerBeside(o Output, path string) (pid int, listens bool) {
	file := o.File()
	slash := strings.LastIndexByte(file, '/')
	if j.host == 0 || slash < 0 {
		return 0, false
	}
	dir, err := openDirOf(j.host, file[:slash+1])
	if err != nil {
		return 0, false
	}
	defer unix.Close(dir)
	fd, err := openIn(dir, path, unix.O_NOFOLLOW)
	if err != nil {
		return 0, false
	}
	s, err := newSocket(fd, func(uint32) bool { return true })
	if err != nil {
		return 0, false
	}
	defer s.close()
	conn, err := s.connect()
	if err != nil {
		return 0, false
	}
	defer conn.Close()
	return int(conn.peer.Pid), true
}
