package jvm

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// listened is a JVM that tests query for its log configuration without the code under test.
type listened struct {
	*Process
	r      *levelRig
	socket string
}

// place is where a JVM runs. The zero value is the place of the test itself.
type place struct {
	tmp      string // its /tmp; empty: the machine's
	isolated bool   // in namespaces of its own; needs tmp
	user     uint32 // uid and gid; needs tmp
	dir      string // working directory
	env      []string
}

// listening starts a JVM with an attach listener and waits until it listens.
func (r *levelRig) listening(at place, flags []string, program ...string) *listened {
	r.Helper()
	p := r.launch(at, append([]string{"-XX:+StartAttachListener"}, flags...), program...)
	lab.Eventually(r, patience, "the JVM listens", func() bool {
		_, err := jcmd(p.socket, "VM.log list")
		if ended(p.Process) {
			r.Fatalf("the JVM ended before it listened: %v", p.Wait(0))
		}
		return err == nil
	})
	return p
}

// launch starts a JVM. At the end of the test, the JVM is killed and its socket is removed.
func (r *levelRig) launch(at place, flags []string, program ...string) *listened {
	r.Helper()
	args := append(r.within(at), r.jdk.Java(), "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-cp", classes)
	args = append(append(args, flags...), program...)
	p := &listened{r: r, Process: &Process{cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.Dir, p.cmd.Env = at.dir, append(os.Environ(), at.env...)
	if err := p.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // as Start does
		close(p.done)
	}()
	pid, tmp := p.PID(), "/tmp"
	if at.isolated {
		pid = 1
	}
	if at.tmp != "" {
		tmp = at.tmp
	}
	p.socket = filepath.Join(tmp, ".java_pid"+strconv.Itoa(pid))
	r.Cleanup(func() {
		p.Kill()
		os.Remove(p.socket) // a killed JVM leaves it behind
	})
	return p
}

// within returns the prefix of a command that is to run in a place. Directories below /tmp that the JVM needs are
// mounted into its own /tmp, which would otherwise hide them.
func (r *levelRig) within(at place) []string {
	r.Helper()
	if at.tmp == "" {
		return nil
	}
	needs(r, "unshare")
	const script = `tmp=$1; shift
for dir in "$1" "$2" "$3" "$4" "$5"; do
	case "$dir" in /tmp/*)
		mkdir -p "$tmp/${dir#/tmp/}"
		mount --bind "$dir" "$tmp/${dir#/tmp/}";;
	esac
done
shift 5
mount --rbind "$tmp" /tmp
exec "$@"`
	args := []string{"unshare", "--mount", "--propagation", "private"}
	if at.isolated {
		args = append(args, "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc")
	}
	args = append(args, "sh", "-euc", script, "sh", at.tmp, r.source, r.dest, r.truth, filepath.Dir(program), r.jdk.Home)
	if at.user != 0 {
		needs(r, "setpriv")
		id := fmt.Sprint(at.user)
		args = append(args, "setpriv", "--reuid", id, "--regid", id, "--clear-groups")
	}
	return args
}

// needs skips the test if it does not run as root or the program is missing.
func needs(t testing.TB, program string) {
	t.Helper()
	lab.NeedsRoot(t, "to give a JVM a /tmp or a user of its own")
	if _, err := exec.LookPath(program); err != nil {
		lab.Needs(t, "util-linux: "+err.Error())
	}
}

// newTmp returns a directory that can serve JVMs as their /tmp.
func newTmp(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jvm-tmp-") // a short name, since it is part of a socket's name
	if err == nil {
		err = os.Chmod(dir, 0o777|os.ModeSticky)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// jcmd runs a diagnostic command as the JDK's jcmd does.
func jcmd(socket, command string) (string, error) {
	conn, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "1\x00jcmd\x00%s\x00\x00\x00", command); err != nil {
		return "", err
	}
	reply, err := io.ReadAll(conn)
	status, text, _ := strings.Cut(string(reply), "\n")
	if err == nil && status != "0" {
		err = fmt.Errorf("%s: status %q: %s", command, status, text)
	}
	return text, err
}

// list returns the JVM's answer to VM.log list.
func (p *listened) list() string {
	p.r.Helper()
	var text string
	lab.Eventually(p.r, patience, "the JVM answers", func() (ok bool) {
		var err error
		text, err = jcmd(p.socket, "VM.log list") // fails while the JVM's backlog of connections is full
		return err == nil
	})
	return text
}

// configuration returns the JVM's list of its outputs, without the note that an output was reconfigured.
func (p *listened) configuration() string {
	p.r.Helper()
	return outputsIn(p.list())
}

func outputsIn(list string) string {
	_, outputs, _ := strings.Cut(list, "Log output configuration:\n")
	return strings.ReplaceAll(outputs, " (reconfigured)", "")
}

// jcmd gets the list of configuration from the JDK's own tool, which makes the JVM listen if it does not listen yet.
func (p *listened) jcmd() string {
	p.r.Helper()
	out, err := exec.Command(filepath.Join(p.r.jdk.Home, "bin", "jcmd"), strconv.Itoa(p.PID()), "VM.log", "list").CombinedOutput()
	if err != nil {
		p.r.Fatalf("jcmd: %v\n%s", err, out)
	}
	return outputsIn(string(out))
}

// signal sends the JVM a signal. After SIGSTOP it waits until every thread is stopped: on a busy machine, threads
// continue for a while, and one of them may answer a command.
func (p *listened) signal(s syscall.Signal) {
	p.r.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.r.Fatal(err)
	}
	if s == syscall.SIGSTOP {
		lab.Eventually(p.r, patience, "all threads of the JVM are stopped", p.stopped)
	}
}

// stopped reports whether all threads are stopped.
func (p *listened) stopped() bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.PID())) // the pattern is well-formed
	for _, task := range tasks {
		if text, err := os.ReadFile(task); err == nil && !strings.Contains(string(text), "\nState:\tT (stopped)\n") {
			return false
		}
	}
	return true
}
