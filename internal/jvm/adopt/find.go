package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
)

// Most is how many JVMs can be adopted at once. Each has its own sidecar, which needs memory.
const Most = 16

// Guest is a JVM that can be adopted.
type Guest struct {
	JVM   attach.JVM
	About attach.Description
}

// String names the JVM for people.
func (g Guest) String() string {
	var about []string
	for _, text := range []string{g.About.Main, g.About.Version, g.About.Collector} {
		if text != "" {
			about = append(about, text)
		}
	}
	if len(about) == 0 {
		return g.JVM.String()
	}
	return fmt.Sprintf("%s (%s)", g.JVM, strings.Join(about, ", "))
}

// Config returns the settings for reaching the JVM of a process or, if pid is 0, all JVMs whose
// processes are visible.
func Config(pid int) attach.Config {
	cfg := attach.DefaultConfig()
	cfg.Mode, cfg.PID = attach.ProcessNamespace, pid
	return cfg
}

// Find returns the JVM that target names, by its process ID or a word of its command line. If
// target is empty, it returns all JVMs. left says why other JVMs are not included.
func Find(ctx context.Context, target string) (guests []Guest, left []error, err error) {
	var jvms []attach.JVM
	if pid, err := strconv.Atoi(target); err == nil {
		j, err := find(ctx, pid)
		if err != nil {
			return nil, nil, err
		}
		jvms = []attach.JVM{j}
	} else if jvms, left, err = choose(ctx, target); err != nil {
		return nil, left, err
	}
	var bad []error
	for _, j := range jvms {
		g, err := meet(ctx, j)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		guests = append(guests, g)
	}
	if len(guests) == 0 {
		return nil, left, errors.Join(bad...)
	}
	return guests, append(left, bad...), nil
}

// find returns the JVM of a process.
func find(ctx context.Context, pid int) (attach.JVM, error) {
	name := fmt.Sprintf("pid %d", pid)
	cfg := Config(pid)
	if bad := cfg.Validate(); pid < 1 || len(bad) > 0 {
		return attach.JVM{}, fmt.Errorf("%d is not a process ID", pid)
	}
	jvms, problems := attach.Processes(ctx, cfg)
	if len(jvms) > 0 {
		return jvms[0], mayAttach(jvms[0])
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return attach.JVM{}, fmt.Errorf("no process %d was found: 'ullage adopt --all' finds the JVMs", pid)
	case len(problems) > 0 && attach.KindOf(problems[0]) == attach.NotPermitted && os.Geteuid() != 0:
		return attach.JVM{}, fmt.Errorf("%s belongs to another user: %s", name, asItsUser)
	case len(problems) > 0:
		return attach.JVM{}, errors.Join(problems...)
	}
	return attach.JVM{}, fmt.Errorf("%s (%s) is not a HotSpot JVM", name, printable.Escaped(strings.TrimSpace(string(comm)), maxWord))
}

// maxWord bounds a word of a command line in a message.
const maxWord = 64

const asItsUser = "run 'ullage adopt' as that user and group, or as root"

// mayAttach returns the reason why this process cannot attach to a JVM, or nil.
func mayAttach(j attach.JVM) error {
	if user := j.User(); os.Geteuid() != 0 && !user.IsOurs() {
		return fmt.Errorf("%s runs as %s, but ullage runs as %d:%d: %s", j, user, os.Geteuid(), os.Getegid(), asItsUser)
	}
	return nil
}

// choose returns the JVM whose command line contains a word, or all JVMs if the word is empty.
func choose(ctx context.Context, word string) (jvms []attach.JVM, left []error, err error) {
	all, problems := attach.Processes(ctx, Config(0))
	others := 0
	for _, p := range problems {
		if attach.KindOf(p) == attach.NotPermitted {
			others++
			continue
		}
		left = append(left, p)
	}
	for _, j := range all {
		switch {
		case word != "" && !slices.ContainsFunc(j.Arguments(), func(arg string) bool { return isNamed(arg, word) }):
		case mayAttach(j) != nil:
			others++
		default:
			jvms = append(jvms, j)
		}
	}
	if others > 0 {
		left = append(left, fmt.Errorf("JVMs of other users, left out: %d (run as root to adopt them)", others))
	}
	switch n := len(jvms); {
	case n == 0 && word != "":
		err = fmt.Errorf("no JVM here has %q in its command line", printable.Escaped(word, maxWord))
	case n == 0:
		err = errors.New("no JVM was found")
	case n > 1 && word != "":
		err = fmt.Errorf("%d JVMs have %q in their command lines: name one by its process ID: %s", n, printable.Escaped(word, maxWord), numbers(jvms))
	case n > Most:
		err = fmt.Errorf("%d JVMs run here, but ullage adopts at most %d at once: nothing was changed; name one JVM by its process ID", n, Most)
	}
	return jvms, left, err
}

// isNamed reports whether an argument of a JVM is its main class, its jar, or something else with
// the given name: "Main" for com.example.Main, "app.jar" for /opt/app.jar.
func isNamed(arg, word string) bool {
	if strings.HasPrefix(arg, "-") {
		return false
	}
	base := path.Base(arg)
	return arg == word || base == word || strings.HasSuffix(base, "."+word)
}

// numbers returns the process IDs of JVMs as a text.
func numbers(jvms []attach.JVM) string {
	var all []string
	for _, j := range jvms[:min(len(jvms), Most)] {
		all = append(all, strconv.Itoa(j.Process()))
	}
	return strings.Join(all, ", ")
}

// meet makes a JVM listen and describe itself. It changes nothing else. It fails if the JVM
// cannot be reached or another process has adopted it.
func meet(ctx context.Context, j attach.JVM) (Guest, error) {
	talk := outputs.New(outputs.Config{Attach: Config(j.Process())})
	listed, err := talk.List(ctx, j)
	if err == nil {
		err = talk.Held(j, listed, control.Socket)
	}
	if err != nil {
		return Guest{}, outputs.Named(j, err)
	}
	return Guest{JVM: j, About: talk.Describe(ctx, j)}, nil
}
