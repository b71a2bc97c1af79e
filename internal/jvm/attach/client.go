package attach

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// JVM is one run of one JVM, as [Client.Find] found it. The zero value is not a JVM.
type JVM struct {
	// ID identifies the run. A restart of our own process does not change it; a restart of the JVM
	// does. For a process, it is "boot-id/pid/starttime". If only the socket is known, it is
	// "dev:ino:btime".
	ID  string
	PID int // the process ID in its own namespace

	host     int    // the process ID in our own namespace; 0 if only the socket is known
	start    uint64 // start of the process, in clock ticks since boot
	socket   inode  // the socket that Find saw; zero if there was none
	uid, gid uint32 // owner of the process, or of the socket
}

// String returns "pid 1", or "pid 4711 (1 in its container)".
func (j JVM) String() string {
	if j.host != 0 && j.host != j.PID {
		return fmt.Sprintf("pid %d (%d in its container)", j.host, j.PID)
	}
	return fmt.Sprintf("pid %d", j.PID)
}

// Client finds JVMs and runs commands in them. Several goroutines may call its methods, but not for
// the same JVM at the same time. It starts no goroutine that outlives a call.
type Client struct {
	cfg    Config
	source string
	seed   maphash.Seed // of Surroundings

	mu     sync.Mutex
	failed map[string]time.Time // when attaching to a JVM last failed, by ID

	scan     sync.Mutex
	verdicts map[int]verdict // the verdicts on the processes that the last Find saw
}

// New returns a Client for a valid cfg. It considers only JVMs whose log files are in the directory
// source, which need not exist yet.
func New(cfg Config, source string) *Client {
	return &Client{cfg: cfg, source: source, seed: maphash.MakeSeed(), failed: map[string]time.Time{}, verdicts: map[int]verdict{}}
}

// Run runs one command in a JVM and returns the answer to [List], [Describe], [Flags], [Threads] or
// [Histogram]. Any other command succeeds only if the answer is empty: any text becomes an error of
// kind Refused. Every error is an [*Error]. If the answer to one of the last three is too long, Run
// returns an error and the beginning of the answer. Once the caller's context has ended, the error
// wraps the context's error. If the JVM does not listen yet and its process is visible, Run makes it
// listen, unless the Client is passive.
func (c *Client) Run(ctx context.Context, j JVM, cmd Command) (string, error) {
	if cmd == (Command{}) {
		return "", &Error{Kind: OtherError, JVM: j.String(), Text: "no command to run"}
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errOverdue)
	defer cancel()
	most := maxReply
	if cmd.dump {
		most = maxDump
	}
	reply, err := c.ask(limited, j, request(cmd), most)
	if err != nil {
		return "", classify(ctx, j, err)
	}
	status, body, err := parseReply(reply[:min(len(reply), most)])
	switch {
	case err != nil:
		return "", &Error{Kind: BadReply, JVM: j.String(), Text: "the reply is not a JVM's", Err: err}
	case len(reply) > most:
		if !cmd.dump {
			body = ""
		}
		return body, &Error{Kind: BadReply, JVM: j.String(), Text: fmt.Sprintf("the reply is longer than %d bytes", most)}
	case status == 0 && (body == "" || cmd == List() || cmd == Describe() || cmd.dump):
		return body, nil
	}
	e := &Error{Kind: Refused, JVM: j.String(), Text: body[:min(len(body), maxText)]}
	if status == badVersion || strings.Contains(body, "Unknown diagnostic command") {
		e.Kind = TooOld
	}
	if status != 0 {
		e.Err = fmt.Errorf("status %d", status)
	}
	return "", e
}

// ask connects to the JVM, checks its identity, and returns at most most+1 bytes of its reply.
func (c *Client) ask(ctx context.Context, j JVM, request []byte, most int) ([]byte, error) {
	s, err := c.open(j)
	var conn *conn
	var stale inode
	if err == nil {
		defer s.close()
		stale = s.id
		grace := refusedFor
		if _, ok := c.lastFailure(j); ok {
			grace = 0
		}
		conn, err = s.dial(ctx, grace)
		if j.host == 0 && errors.Is(err, unix.ECONNREFUSED) {
			c.noteFailure(j)
		}
	}
	if j.host != 0 && !c.cfg.Passive && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED)) {
		conn, err = c.summon(ctx, j, stale)
	}
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := j.mustBe(conn.peer); err != nil {
		return nil, err
	}
	if !c.Alive(j) {
		return nil, unix.ESRCH
	}
	reply, err := exchange(ctx, conn.File, request, most)
	if errors.Is(err, errClosed) {
		err = c.explainClosed(j, err)
	}
	return reply, err
}

// open opens the JVM's socket. If there is no socket, the error is ENOENT.
func (c *Client) open(j JVM) (*socket, error) {
	s, err := j.openSocket(c.cfg.Tmp)
	var e *Error
	if errors.As(err, &e) {
		e.JVM = j.String()
	}
	if err == nil && j.host == 0 && s.id != j.socket {
		s.close()
		return nil, &Error{Kind: NoJVM, JVM: j.String(), Text: "it has ended, and another process has its ID now"}
	}
	return s, err
}

// mustBe checks the peer of the socket before anything is sent: the name of the socket proves
// nothing about the peer.
func (j JVM) mustBe(peer unix.Ucred) error {
	text := ""
	kind := NotPermitted
	switch {
	case peer.Uid != j.uid:
		text = fmt.Sprintf("uid %d listens on the attach socket of uid %d: nothing was sent", peer.Uid, j.uid)
	case os.Geteuid() != 0 && (int(peer.Uid) != os.Geteuid() || int(peer.Gid) != os.Getegid()):
		// HotSpot would close the connection without a reply.
		text = whoMay(peer.Uid, peer.Gid)
	case j.host != 0 && int(peer.Pid) != j.host:
		kind = OtherError
		text = fmt.Sprintf("its attach socket is that of %s: two JVMs share one /tmp; give each container its own", peerName(peer.Pid))
	default:
		return nil
	}
	return &Error{Kind: kind, JVM: j.String(), Text: text}
}

// peerName names the process at the other end of a socket. If that process is not visible in our
// process namespace, the kernel shows 0.
func peerName(pid int32) string {
	if pid == 0 {
		return "a JVM in another container, where it has the same process ID"
	}
	return fmt.Sprintf("pid %d", pid)
}

// explainClosed returns an error that says why there was no reply.
func (c *Client) explainClosed(j JVM, err error) error {
	e := &Error{Kind: BadReply, JVM: j.String(), Text: "no reply", Err: err}
	s, gone := c.open(j)
	if gone == nil {
		defer s.close()
		var again *conn
		if again, gone = s.connect(); gone == nil {
			again.Close()
		}
	}
	switch {
	case errors.Is(gone, unix.ENOENT), errors.Is(gone, unix.ECONNREFUSED), KindOf(gone) == NoJVM, !c.Alive(j):
		e.Kind, e.Text = NoJVM, "it has ended"
	case int(j.uid) != os.Geteuid() || int(j.gid) != os.Getegid():
		e.Kind, e.Text = NotPermitted, whoMay(j.uid, j.gid)
	}
	return e
}

// Alive reports whether the same run of the JVM still seems to exist. It does not connect to the
// JVM, so the socket that a killed JVM has left behind looks alive.
func (c *Client) Alive(j JVM) bool {
	if j.host != 0 {
		start, err := startTime(j.host)
		return err == nil && start == j.start
	}
	var st unix.Statx_t
	err := statx(unix.AT_FDCWD, filepath.Join(c.cfg.Tmp, socketName(j.PID)), unix.AT_SYMLINK_NOFOLLOW, &st)
	return err == nil && inodeOf(&st) == j.socket
}

// Ended reports whether the run with this ID has certainly ended. If only the JVM's socket is
// known, the end is never certain: another process may have removed the socket.
func Ended(id string) bool {
	parts := strings.Split(id, "/")
	if len(parts) != 3 {
		return false
	}
	pid, err := parsePID(parts[1])
	if err != nil {
		return false
	}
	boot, err := bootID()
	if err != nil || boot != parts[0] {
		return err == nil
	}
	start, err := startTime(pid)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
	}
	return strconv.FormatUint(start, 10) != parts[2]
}

// bootID returns an ID that changes with every boot.
func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// Ships reports whether an output of the JVM writes into the source. If only
// the JVM's socket is known, the directory must have the same path in both
// containers.
func (c *Client) Ships(j JVM, o Output) bool {
	file := o.File()
	slash := strings.LastIndexByte(file, '/')
	if slash < 0 && (file == "" || j.host == 0) {
		return false
	}
	if j.host != 0 {
		return c.isSource(j, file[:slash+1])
	}
	source, err := filepath.Abs(c.source)
	if err != nil {
		return false
	}
	dir := filepath.Clean(file[:slash+1])
	if dir == source {
		return true
	}
	source, err = filepath.EvalSymlinks(source)
	return err == nil && dir == source
}

// isSource reports whether a directory is the source. dir is the path that the process uses.
func (c *Client) isSource(j JVM, dir string) bool {
	fd, err := openDirOf(j.host, dir)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var theirs, source unix.Statx_t
	return statx(fd, "", unix.AT_EMPTY_PATH, &theirs) == nil &&
		statx(unix.AT_FDCWD, c.source, 0, &source) == nil &&
		inodeOf(&theirs) == inodeOf(&source) && c.Alive(j)
}
