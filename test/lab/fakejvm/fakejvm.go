// Package fakejvm simulates HotSpot for tests of the commands that are sent to JVMs: it answers
// VM.log through an attach socket in a shared /tmp. It contains no code of the product.
package fakejvm

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

// Reaction is how a fake JVM reacts to a command.
type Reaction int

const (
	Obey    Reaction = iota
	Hang             // does nothing and does not answer until the client disconnects
	Stumble          // obeys, but does not answer
	Mute             // closes without an answer
	Garble           // answers with something that is not a reply
	Lie              // lists its outputs as if all of them were at trace
)

// Output is one output as VM.log lists it.
type Output struct{ Name, Selection, Decorators, Options, Reconfigured string }

// JVM simulates HotSpot's VM.log for the commands that a Loop may send, through an attach socket in a shared /tmp.
// Like HotSpot, it serves one client at a time.
type JVM struct {
	t   testing.TB
	tmp string
	pid int

	sync.Mutex          // held while a command is executed
	Began      []Output // outputs of a fresh JVM
	Options    string   // of its command line; empty: it shows none
	Elsewhere  string   // the directory in which files that a command creates are found by the test; empty: at their own paths
	Outputs    []Output
	past       []string // all selections that commands have set for the first file
	commands   []string
	at         []time.Time // the times of the commands
	react      func(cmd string) Reaction
	listener   *net.UnixListener
	conn       net.Conn
	ended      chan struct{}
}

// OwnSelection is the default selection of a fake JVM's files.
const OwnSelection = "all=off,gc*=info,safepoint=info"

// Start starts a JVM with stdout, stderr and one output for each file.
func Start(t testing.TB, tmp string, pid int, files ...string) *JVM {
	t.Helper()
	j := &JVM{t: t, tmp: tmp, pid: pid}
	j.Began = []Output{
		{"stdout", "all=warning", "uptime,level,tags", "", ""},
		{"stderr", "all=off", "uptime,level,tags", "", ""},
	}
	for _, file := range files {
		j.Began = append(j.Began, Output{"file=" + file, OwnSelection, "uptime,level,tags", "filecount=5,filesize=0B,async=false", ""})
	}
	j.Start()
	t.Cleanup(j.Kill)
	return j
}

// Start starts the JVM again. Like HotSpot, it listens under a temporary name first.
func (j *JVM) Start() {
	j.t.Helper()
	dir, err := os.Open(j.tmp)
	j.must(err)
	defer dir.Close()
	// A path through the descriptor keeps the address short enough, however long the test's name is.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/.java_pid%d.tmp", dir.Fd(), j.pid)})
	j.must(err)
	l.SetUnlinkOnClose(false)
	j.must(os.Rename(j.Socket()+".tmp", j.Socket()))
	j.Lock()
	defer j.Unlock()
	j.listener, j.Outputs, j.ended = l, slices.Clone(j.Began), make(chan struct{})
	go j.serve(l, j.ended)
}

func (j *JVM) Socket() string { return filepath.Join(j.tmp, fmt.Sprintf(".java_pid%d", j.pid)) }

// Kill ends the JVM as SIGKILL does: the socket's name stays.
func (j *JVM) Kill() {
	j.Lock()
	ended := j.ended
	j.listener.Close()
	if j.conn != nil {
		j.conn.Close()
	}
	j.Unlock()
	<-ended
}

// Restart kills the JVM and starts another with the same process ID.
func (j *JVM) Restart() {
	j.t.Helper()
	j.Kill()
	j.must(os.Remove(j.Socket()))
	j.Start()
}

func (j *JVM) serve(l *net.UnixListener, ended chan<- struct{}) {
	defer close(ended)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		j.Lock()
		j.conn = c
		j.Unlock()
		j.answer(c)
		c.Close()
	}
}

// answer serves one client.
func (j *JVM) answer(c net.Conn) {
	var request [][]byte
	in := bufio.NewReader(c)
	for range 5 {
		part, err := in.ReadBytes(0)
		if err != nil {
			return // the client only checks that the JVM listens
		}
		request = append(request, part[:len(part)-1])
	}
	cmd := string(request[2])
	if want := "1\x00jcmd\x00" + cmd + "\x00\x00"; string(bytes.Join(request, []byte{0})) != want || len(cmd) > 1024 {
		j.t.Errorf("got the request %q, want protocol 1 and jcmd with one command of at most 1024 bytes", request)
	}
	switch how, reply := j.take(cmd); how {
	case Hang, Stumble:
		_, _ = io.Copy(io.Discard, in) // until the client disconnects
	case Garble:
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	case Mute:
	default:
		_, _ = io.WriteString(c, "0\n"+reply)
	}
}

// take records a command and executes it unless the reaction forbids that.
func (j *JVM) take(cmd string) (Reaction, string) {
	j.Lock()
	defer j.Unlock()
	j.commands, j.at = append(j.commands, cmd), append(j.at, time.Now())
	how := Obey
	if j.react != nil {
		how = j.react(cmd)
	}
	switch {
	case how == Lie && cmd == ListCommand:
		return how, strings.ReplaceAll(j.list(), "=info", "=trace")
	case how == Hang || how == Mute || how == Garble:
		return how, ""
	}
	return how, j.do(cmd)
}

// When sets the reaction to further commands. The function is called with each command before the command is
// executed, and must not call methods of the JVM.
func (j *JVM) When(react func(cmd string) Reaction) {
	j.Lock()
	defer j.Unlock()
	j.react = react
}

// Always returns a function that gives the same reaction to every command.
func Always(r Reaction) func(string) Reaction { return func(string) Reaction { return r } }

// Once returns a function that gives the reaction to the nth command with the prefix, counted from
// 1, and obeys all others.
func Once(n int, prefix string, r Reaction) func(string) Reaction {
	return func(cmd string) Reaction {
		if strings.HasPrefix(cmd, prefix) {
			if n--; n == 0 {
				return r
			}
		}
		return Obey
	}
}

const (
	ListCommand     = "VM.log list"
	RotateCommand   = "VM.log rotate"
	Configuring     = "VM.log output="
	DescribeCommand = "VM.uptime\nVM.version\nVM.flags\nVM.command_line"
)

var configureCommand = regexp.MustCompile(`^VM\.log output="([^"]+)" what=(\S+) decorators=(\S+)$`)

func (j *JVM) do(cmd string) string {
	if cmd == ListCommand {
		return j.list()
	}
	if cmd == RotateCommand {
		return ""
	}
	if cmd == DescribeCommand {
		options := ""
		if j.Options != "" {
			options = "jvm_args: " + j.Options + "\n"
		}
		return "6.076 s\nOpenJDK 64-Bit Server VM version 17.0.15+6\nJDK 17.0.15\n-XX:+UseG1GC \nVM Arguments:\n" + options + "java_command: shop.Main secret\n"
	}
	if m := createCommand.FindStringSubmatch(cmd); m != nil {
		return j.create(m[1], m[2], m[3], m[4])
	}
	if m := deleteCommand.FindStringSubmatch(cmd); m != nil {
		return j.remove(m[1])
	}
	m := configureCommand.FindStringSubmatch(cmd)
	if m == nil {
		j.t.Errorf("got the command %q, want one that a Loop may send", cmd)
		return "Syntax : VM.log [options]"
	}
	i := slices.IndexFunc(j.Outputs, func(o Output) bool { return o.Name == m[1] })
	if i < 0 {
		j.t.Errorf("the command %q would create a new output, want one for an existing output", cmd)
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
		j.Outputs[i].Selection = merge(j.Outputs[i].Selection, item)
	}
	j.Outputs[i].Decorators, j.Outputs[i].Reconfigured = m[3], " (reconfigured)"
	j.past = append(j.past, j.Outputs[min(2, len(j.Outputs)-1)].Selection)
	return text
}

var (
	createCommand = regexp.MustCompile(`^VM\.log output="([^"]+)" what=(\S+) decorators=(\S+) output_options=(\S+)$`)
	deleteCommand = regexp.MustCompile(`^VM\.log output="([^"]+)" what=all=off$`)
)

// create creates an output and its file, as HotSpot does.
func (j *JVM) create(name, what, decorators, options string) string {
	if slices.ContainsFunc(j.Outputs, func(o Output) bool { return o.Name == name }) {
		j.t.Errorf("the output %s is created twice, want once", name)
		return "Output options for existing outputs are ignored.\n"
	}
	if strings.Contains(what, "saftypoint") {
		return "Invalid tag 'saftypoint' in log selection. Did you mean 'safepoint'?\n"
	}
	file := strings.Replace(strings.TrimPrefix(name, "file="), "%p", fmt.Sprint(j.pid), 1)
	if j.Elsewhere != "" {
		file = filepath.Join(j.Elsewhere, filepath.Base(file))
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return fmt.Sprintf("Error opening log file '%s': %v\n", file, err)
	}
	text := ""
	if items := strings.Split(what, ","); strings.HasPrefix(items[len(items)-1], "gc+ref+heap=") {
		text = "No tag set matches selection: gc+ref+heap.\n"
	}
	j.Outputs = append(j.Outputs, Output{name, "all=off," + what, decorators, options + ",async=false", " (reconfigured)"})
	return text
}

// remove deletes an output.
func (j *JVM) remove(name string) string {
	kept := slices.DeleteFunc(slices.Clone(j.Outputs), func(o Output) bool { return o.Name == name })
	if len(kept) == len(j.Outputs) {
		j.t.Errorf("the output %s is deleted, but does not exist: the JVM would create it", name)
	}
	j.Outputs = kept
	return ""
}

// List returns the JVM's answer to VM.log list.
func (j *JVM) List() string {
	j.Lock()
	defer j.Unlock()
	return j.list()
}

// merge adds an item to a selection. The item takes precedence.
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

func (j *JVM) list() string {
	var b strings.Builder
	b.WriteString("Available log levels: off, trace, debug, info, warning, error\nDescribed tag sets:\n logging: Logging for the log framework itself\nLog output configuration:\n")
	for i, o := range j.Outputs {
		fmt.Fprintf(&b, " #%d: %s %s %s", i, o.Name, o.Selection, o.Decorators)
		if o.Options != "" {
			b.WriteString(" " + o.Options)
		}
		b.WriteString(o.Reconfigured + "\n")
	}
	return b.String()
}

// Selection returns the selection of the JVM's first file.
func (j *JVM) Selection() string { return j.SelectionOf(2) }

// HasLogged reports whether a command has ever set this selection for the JVM's first file.
func (j *JVM) HasLogged(selection string) bool {
	j.Lock()
	defer j.Unlock()
	return slices.Contains(j.past, selection)
}

func (j *JVM) SelectionOf(output int) string {
	j.Lock()
	defer j.Unlock()
	return j.Outputs[output].Selection
}

func (j *JVM) Count() int {
	j.Lock()
	defer j.Unlock()
	return len(j.commands)
}

// HasTaken fails the test unless the JVM has received n commands.
func (j *JVM) HasTaken(n int) {
	j.t.Helper()
	if got := j.Count(); got != n {
		j.t.Errorf("%d commands, want %d: %q", got, n, j.Sent(0))
	}
}

// Sent returns the nth command, counted from 0, and all later ones.
func (j *JVM) Sent(n int) []string {
	j.Lock()
	defer j.Unlock()
	return slices.Clone(j.commands[n:])
}

// Times returns the times of the commands.
func (j *JVM) Times() []time.Time {
	j.Lock()
	defer j.Unlock()
	return slices.Clone(j.at)
}

// Atop returns the selection of a fake JVM with a raise on top of its own selection.
func Atop(raise string) string {
	selection := ""
	for item := range strings.SplitSeq(OwnSelection+","+raise, ",") {
		selection = merge(selection, item)
	}
	return selection
}

func (j *JVM) must(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}
