package fault

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// tenantEnv makes this program the hostile tenant of a directory.
const tenantEnv = "ULLAGE_FAULT_TENANT"

func init() {
	if dir := os.Getenv(tenantEnv); dir != "" {
		(&tenant{dir: dir, victims: filepath.SplitList(os.Getenv(tenantEnv + "_VICTIMS"))}).run()
	}
}

// tenant is a process of the application's user that attacks the source directory. It does whatever it can, but
// leaves the files of the honest stream alone and leaves room for them on the tmpfs.
type tenant struct {
	dir     string
	victims []string // files that do not belong to it
	acts    int
	endless *os.File // the file of an endless line
	old     []byte   // an earlier checkpoint of the sidecar
	held    *os.File // a ring that it keeps open
}

// run acts every millisecond until it is killed.
func (n *tenant) run() {
	acts := []func(){n.link, n.rename, n.rename, n.truncate, n.hole, n.endlessLine, n.endlessLine, n.special, n.forge, n.garbage, n.replace, n.ring, n.ring}
	for {
		acts[n.acts%len(acts)]()
		n.acts++
		time.Sleep(time.Millisecond)
	}
}

func (n *tenant) name() string {
	return filepath.Join(n.dir, fmt.Sprintf("evil-%d.log", rand.IntN(300)))
}

func (n *tenant) victim() string { return n.victims[rand.IntN(len(n.victims))] }

// link makes symbolic and hard links to files that do not belong to the tenant.
func (n *tenant) link() {
	name := n.name()
	_ = os.Remove(name)
	if rand.IntN(2) == 0 {
		_ = os.Symlink(n.victim(), name)
	} else {
		_ = os.Link(n.victim(), name)
	}
}

// rename moves one file over another, or to an archive's name and back.
func (n *tenant) rename() {
	from, to := n.name(), n.name()
	switch rand.IntN(3) {
	case 0:
		to += fmt.Sprintf(".%d", rand.IntN(5))
	case 1:
		from += fmt.Sprintf(".%d", rand.IntN(5))
	}
	_ = os.Rename(from, to)
}

// open opens one of the tenant's own files, never a link. In a pod, the tenant does not see the destination. Here the
// tenant could reach the destination through its own links, so it does not write through links.
func (n *tenant) open(name string, flags int) *os.File {
	f, err := os.OpenFile(name, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|flags, 0o666)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 {
		f.Close()
		return nil
	}
	return f
}

// truncate overwrites lines that the sidecar is reading and truncates the file.
func (n *tenant) truncate() {
	f := n.open(n.name(), os.O_CREATE)
	if f == nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString("[0.001s][info][gc] a line of the tenant\n[0.002s][error][gc] and another one")
	_ = f.Truncate(int64(rand.IntN(60)))
}

// hole makes a file look as if it had a terabyte of data.
func (n *tenant) hole() {
	f := n.open(n.name(), os.O_CREATE)
	if f == nil {
		return
	}
	defer f.Close()
	_ = f.Truncate(1 << (10 + rand.IntN(31)))
	_, _ = f.WriteString("[0.001s][info][gc] a line before a hole\n")
}

// endlessLine extends a line, up to 1 GiB if there is time.
func (n *tenant) endlessLine() {
	const most = 1 << 30
	if n.endless == nil {
		n.endless = n.open(filepath.Join(n.dir, "endless.log"), os.O_CREATE|os.O_APPEND)
	}
	if n.endless == nil || n.full() {
		return
	}
	_, _ = n.endless.Write(endlessText)
	if info, err := n.endless.Stat(); err == nil && info.Size() > most {
		_, _ = n.endless.WriteString("\n")
		n.endless.Close()
		n.endless = nil
		_ = os.Remove(filepath.Join(n.dir, "endless.log"))
	}
}

var endlessText = bytes.Repeat([]byte("x"), 128<<10)

// full reports whether the tmpfs would become too full for the honest writer.
func (n *tenant) full() bool {
	var st unix.Statfs_t
	return unix.Statfs(n.dir, &st) != nil || st.Bavail < st.Blocks*3/4
}

// special creates entries that are not regular files.
func (n *tenant) special() {
	name := n.name()
	_ = os.RemoveAll(name)
	switch rand.IntN(3) {
	case 0:
		_ = unix.Mkfifo(name, 0o666)
	case 1:
		_ = os.Mkdir(name, 0o777)
	case 2:
		if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
			_ = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
			unix.Close(fd)
		}
	}
}

// slot returns the path of one of the sidecar's checkpoints.
func (n *tenant) slot() string {
	return filepath.Join(n.dir, ".ullage", fmt.Sprintf("checkpoint-%d", rand.IntN(2)))
}

// isDirectory reports whether a name is a directory and not a link to a directory: in a pod, the tenant could not
// reach the link's target.
func isDirectory(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}

// forge writes a forged or an old checkpoint over the sidecar's, or damages it.
func (n *tenant) forge() {
	slot := n.slot()
	if !isDirectory(filepath.Dir(slot)) {
		return
	}
	body := `{"seq":999999,"streams":[{"name":"../../../../etc","mark":{}},{"name":"gc.log","mark":{}}],"files":[]}` + "\n"
	text := fmt.Sprintf("ullage-checkpoint 1 %d %064d\n%s", len(body), 0, body)
	f := n.open(slot, 0)
	if f == nil {
		return
	}
	defer f.Close()
	if info, err := os.Lstat(slot); err == nil && info.Size() < 1<<20 && rand.IntN(20) == 0 {
		n.old, _ = os.ReadFile(slot)
	}
	switch rand.IntN(5) {
	case 0:
		_, _ = f.WriteString(text)
	case 1:
		_ = f.Truncate(int64(rand.IntN(200)))
	case 2:
		_, _ = f.WriteAt([]byte{byte(rand.IntN(256))}, int64(rand.IntN(500)))
	case 3:
		_ = f.Truncate(1 << 40)
	case 4:
		_, _ = f.Write(n.old)
	}
}

// replace replaces the checkpoint or its directory with something else.
func (n *tenant) replace() {
	slot := n.slot()
	if own := filepath.Dir(slot); rand.IntN(20) == 0 || !isDirectory(own) {
		slot = own
	}
	_ = os.RemoveAll(slot)
	switch rand.IntN(4) {
	case 0:
		_ = os.Symlink(n.victim(), slot)
	case 1:
		_ = os.Link(n.victim(), slot)
	case 2:
		_ = unix.Mkfifo(slot, 0o666)
	case 3:
		_ = os.MkdirAll(filepath.Join(slot, "not", "empty"), 0o777)
	}
}

// garbage writes bytes that are not lines.
func (n *tenant) garbage() {
	if n.full() {
		return
	}
	text := make([]byte, rand.IntN(8<<10))
	for i := range text {
		text[i] = byte(rand.IntN(256))
	}
	if f := n.open(n.name(), os.O_CREATE|os.O_APPEND); f != nil {
		_, _ = f.Write(text)
		f.Close()
	}
}
