package levels

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// reaction is how a fake JVM takes one command.
type reaction int

const (
	obey    reaction = iota
	hang             // does nothing, and does not answer until the client goes
	stumble          // does it, and does not answer
	mute             // closes without an answer
	garble           // answers what is no reply
	lie              // lists its outputs as if all of them were at trace
)

// fakeOutput is one output as VM.log lists it.
type fakeOutput struct{ name, selection, decorators, options, reconfigured string }

// fakeJVM plays VM.log as HotSpot does for what a Loop may send, behind an
// attach socket in a shared /tmp. Like HotSpot it serves one client at a time.
type fakeJVM struct {
	t   testing.TB
	tmp string
	pid int

	mu       sync.Mutex
	began    []fakeOutput // outputs of a fresh JVM
	outputs  []fakeOutput
	commands []string
	at       []time.Time // of the commands
	react    func(cmd string) reaction
	listener *net.UnixListener
	conn     net.Conn
	ended    chan struct{}
}

// The baseline of a fake JVM, unless it is told otherwise.
const ownSelection = "all=off,gc*=info,safepoint=info"

func startJVM(t testing.TB, tmp string, pid int, files ...string) *fakeJVM {
	t.Helper()
	j := &fakeJVM{t: t, tmp: tmp, pid: pid}
	j.began = []fakeOutput{
		{"stdout", "all=warning", "uptime,level,tags", "", ""},
		{"stderr", "all=off", "uptime,level,tags", "", ""},
	}
	for _, file := range files {
		j.began = append(j.began, fakeOutput{"file=" + file, ownSelection, "uptime,level,tags", "filecount=5,filesize=0B,async=false", ""})
	}
	j.start()
	t.Cleanup(j.kill)
	return j
}

// start listens, as HotSpot does: under another name first.
func (j *fakeJVM) start() {
	j.t.Helper()
	dir, err := os.Open(j.tmp)
	must(j.t, err)
	defer dir.Close()
	// A path through the descriptor fits an address, whatever the test is called.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/.java_pid%d.tmp", dir.Fd(), j.pid)})
	must(j.t, err)
	l.SetUnlinkOnClose(false)
	must(j.t, os.Rename(j.socket()+".tmp", j.socket()))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.listener, j.outputs, j.ended = l, slices.Clone(j.began), make(chan struct{})
	go j.serve(l, j.ended)
}

func (j *fakeJVM) socket() string { return filepath.Join(j.tmp, fmt.Sprintf(".java_pid%d", j.pid)) }

// kill ends it as SIGKILL does: the socket's name stays.
func (j *fakeJVM) kill() {
	j.mu.Lock()
	ended := j.ended
	j.listener.Close()
	if j.conn != nil {
		j.conn.Close()
	}
	j.mu.Unlock()
	<-ended
}

// restart is another run of the JVM under the same number.
func (j *fakeJVM) restart() {
	j.t.Helper()
	j.kill()
	must(j.t, os.Remove(j.socket()))
	j.start()
}

func (j *fakeJVM) serve(l *net.UnixListener, ended chan<- struct{}) {
	defer close(ended)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		j.mu.Lock()
		j.conn = c
		j.mu.Unlock()
		j.answer(c)
		c.Close()
	}
}

// answer serves one client.
func (j *fakeJVM) answer(c net.Conn) {
	var request [][]byte
	in := bufio.NewReader(c)
	for range 5 {
		part, err := in.ReadBytes(0)
		if err != nil {
			return // somebody only looks whether we listen
		}
		request = append(request, part[:len(part)-1])
	}
	cmd := string(request[2])
	if want := "1\x00jcmd\x00" + cmd + "\x00\x00"; string(bytes.Join(request, []byte{0})) != want || len(cmd) > 1024 {
		j.t.Errorf("a request is %q", request)
	}
	switch how, reply := j.take(cmd); how {
	case hang, stumble:
		_, _ = io.Copy(io.Discard, in) // until the client goes
	case garble:
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	case mute:
	default:
		_, _ = io.WriteString(c, "0\n"+reply)
	}
}

// take notes a command and does it, or not.
func (j *fakeJVM) take(cmd string) (reaction, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commands, j.at = append(j.commands, cmd), append(j.at, time.Now())
	how := obey
	if j.react != nil {
		how = j.react(cmd)
	}
	switch {
	case how == lie && cmd == listCommand:
		return how, strings.ReplaceAll(j.list(), "=info", "=trace")
	case how == hang || how == mute || how == garble:
		return how, ""
	}
	return how, j.do(cmd)
}

// when says how commands are taken from now on. The function is called with
// the command, before that is done, and must not call the fakeJVM.
func (j *fakeJVM) when(react func(cmd string) reaction) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.react = react
}

// always takes every command in the same way.
func always(r reaction) func(string) reaction { return func(string) reaction { return r } }

// once takes the nth command that begins so in another way, from 1.
func once(n int, prefix string, r reaction) func(string) reaction {
	return func(cmd string) reaction {
		if strings.HasPrefix(cmd, prefix) {
			if n--; n == 0 {
				return r
			}
		}
		return obey
	}
}

const (
	listCommand     = "VM.log list"
	rotateCommand   = "VM.log rotate"
	configuring     = "VM.log output="
	describeCommand = "VM.uptime\nVM.version\nVM.flags\nVM.command_line"
)

var configureCommand = regexp.MustCompile(`^VM\.log output="([^"]+)" what=(\S+) decorators=(\S+)$`)

func (j *fakeJVM) do(cmd string) string {
	if cmd == listCommand {
		return j.list()
	}
	if cmd == rotateCommand {
		return ""
	}
	if cmd == describeCommand {
		return "6.076 s\nOpenJDK 64-Bit Server VM version 17.0.15+6\nJDK 17.0.15\n-XX:+UseG1GC \nVM Arguments:\njava_command: shop.Main secret\n"
	}
	m := configureCommand.FindStringSubmatch(cmd)
	if m == nil {
		j.t.Errorf("a command that no Loop may send: %q", cmd)
		return "Syntax : VM.log [options]"
	}
	i := slices.IndexFunc(j.outputs, func(o fakeOutput) bool { return o.name == m[1] })
	if i < 0 {
		j.t.Errorf("a command makes a new output: %q", cmd)
		return ""
	}
	if strings.Contains(m[2], "saftypoint") {
		return "Invalid tag 'saftypoint' in log selection. Did you mean 'safepoint'?\n"
	}
	text := ""
	for item := range strings.SplitSeq(m[2], ",") {
		if strings.HasPrefix(item, "gc+ref+heap=") {
			text = "No tag set matches selection: gc+ref+heap. Did you mean any of the following? gc+heap* gc+ref* gc+heap+numa gc+phases+ref gc+ref+start\n"
			continue
		}
		j.outputs[i].selection = merge(j.outputs[i].selection, item)
	}
	j.outputs[i].decorators, j.outputs[i].reconfigured = m[3], " (reconfigured)"
	return text
}

// merge puts an item on top of a selection. It wins over what it covers.
func merge(selection, item string) string {
	tags, _, _ := strings.Cut(item, "=")
	if tags == "all" {
		return item
	}
	kept := slices.DeleteFunc(strings.Split(selection, ","), func(old string) bool {
		is, _, _ := strings.Cut(old, "=")
		family, wild := strings.CutSuffix(tags, "*")
		return is == tags || wild && (is == family || is == family+"*" || strings.HasPrefix(is, family+"+"))
	})
	return strings.Join(append(kept, item), ",")
}

func (j *fakeJVM) list() string {
	var b strings.Builder
	b.WriteString("Available log levels: off, trace, debug, info, warning, error\nDescribed tag sets:\n logging: Logging for the log framework itself\nLog output configuration:\n")
	for i, o := range j.outputs {
		fmt.Fprintf(&b, " #%d: %s %s %s", i, o.name, o.selection, o.decorators)
		if o.options != "" {
			b.WriteString(" " + o.options)
		}
		b.WriteString(o.reconfigured + "\n")
	}
	return b.String()
}

// selection is that of its first file.
func (j *fakeJVM) selection() string { return j.selectionOf(2) }

func (j *fakeJVM) selectionOf(output int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.outputs[output].selection
}

func (j *fakeJVM) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.commands)
}

// sent are the commands from the nth on, from 0.
func (j *fakeJVM) sent(n int) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.commands[n:])
}

// times are those of the commands.
func (j *fakeJVM) times() []time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.at)
}

// atop is what a fake JVM logs with a raise on top of its baseline.
func atop(raise string) string {
	selection := ""
	for item := range strings.SplitSeq(ownSelection+","+raise, ",") {
		selection = merge(selection, item)
	}
	return selection
}
