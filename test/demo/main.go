// Command demo shows what ullage does, with a real JVM. The JVM logs for some seconds, and the sidecar ships its log.
// The sidecar raises the JVM's level for a while when an annotation requests that, is killed with -9 in the middle
// and started again. A table shows what became of every line.
//
// The table does not take ullage's word for anything. The JVM writes its log a second time to a file that ullage does
// not know, and the demo looks for each line of it in the persisted log. (Only the shipped output is raised: the
// raise adds lines at a level of its own, which are left out of that comparison. A line that the JVM itself wrote
// twice, as it may when its level changes, is counted separately.) The exit code is 1 if a line is lost or repeated.
//
// With -sinks, the sidecar also copies its segments to an S3 server and its lines to a Collector, which are both
// killed once. Their lines are read back and compared.
//
// With -hindsight, the JVM logs the same for two sidecars. One persists all lines. The other withholds lines below
// info, and saves those around an incident. A table compares them.
//
// With -adopt, the JVM is started without any log. The command ullage adopt ships a log for some seconds and reports
// on it. The demo compares the JVM's list of outputs before and after.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

const usage = `demo kills the sidecar of a logging JVM with kill -9 and accounts for every line.

Usage:
  go run ./test/demo [flags]

Flags:
`

func main() {
	fs := flag.NewFlagSet("demo", flag.ExitOnError)
	fs.Usage = func() { fmt.Fprint(fs.Output(), usage); fs.PrintDefaults() }
	ullage := fs.String("ullage", "", "`PATH` of the program; without it, it is built")
	seconds := fs.Int("seconds", 15, "how long the JVM runs, a `NUMBER` of at least 6")
	sinks := fs.Bool("sinks", false, "also copy to an S3 server and to an OpenTelemetry Collector, and kill each of them once")
	hindsight := fs.Bool("hindsight", false, "instead, withhold the lines below info, save those around an incident, and compare what is stored")
	adopt := fs.Bool("adopt", false, "instead, adopt a JVM that was started without a log, and compare its configuration before and after")
	_ = fs.Parse(os.Args[1:]) // Parse exits on a bad flag
	if *seconds < 6 || fs.NArg() > 0 {
		fs.Usage()
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	show := showKills
	switch {
	case *sinks:
		show = showSinks
	case *hindsight:
		show = showHindsight
	case *adopt:
		show = showAdopt
	}
	err := perform(ctx, &demo{out: os.Stdout, ullage: *ullage, seconds: *seconds}, show)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// errInterrupted ends the demo early. Everything is still cleaned up.
var errInterrupted = errors.New("interrupted")

// perform prepares a demo, shows it, and then cleans up.
func perform(ctx context.Context, d *demo, show func(context.Context, *demo) error) error {
	jdks, err := lab.JDKs()
	if err != nil {
		return err
	}
	d.jdk = jdks[len(jdks)-1]
	defer d.end()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	return show(ctx, d)
}

// showSinks is showKills with servers that get copies.
func showSinks(ctx context.Context, d *demo) error {
	if err := d.startEngines(); err != nil {
		return err
	}
	return showKills(ctx, d)
}

// showKills raises the JVM's level, kills the sidecar, and compares each line.
func showKills(ctx context.Context, d *demo) error {
	if err := d.run(ctx); err != nil {
		return err
	}
	r, err := d.result()
	if err != nil {
		return err
	}
	r.print(d.out)
	d.howToRead()
	return r.err()
}

// demo is one run of the demo.
type demo struct {
	out     io.Writer
	seconds int
	jdk     lab.JDK
	ullage  string // the program

	dir     string // is kept after the demo; has dest and, if the demo built it, the program
	dest    string
	scratch string // Java classes, and the JVM's second output
	tmpfs   tmpfs

	jvm     *jvm.Process
	side    *lab.Sidecar // nil while the sidecar is down
	engines []*engine    // the S3 server and the Collector, to which sinks copy; empty without sinks
	raise   raise
	dropped int  // lines, by the sidecars' own count
	told    bool // the user was told how to read the result
}

// prepare makes the directories and everything that has to be built.
func (d *demo) prepare(ctx context.Context) error {
	var err error
	if d.dir, err = os.MkdirTemp("", "ullage-demo-"); err != nil {
		return err
	}
	d.dest, d.scratch = filepath.Join(d.dir, "durable"), filepath.Join(d.dir, "scratch")
	if err := errors.Join(os.Mkdir(d.dest, 0o755), os.Mkdir(d.scratch, 0o755)); err != nil {
		return err
	}
	if d.ullage == "" {
		d.say("building ullage")
		if d.ullage, err = lab.Build(d.dir, "ullage"); err != nil {
			return err
		}
	}
	if _, err := jvm.Compile(d.jdk, d.scratch); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if d.tmpfs, err = newTmpfs(d.dir); err != nil {
		return err
	}
	if d.tmpfs.warning != "" {
		d.say("WARNING: %s", d.tmpfs.warning)
	}
	return nil
}

// end removes everything except the persisted log and the program to read it. If nothing was persisted, it removes
// everything.
func (d *demo) end() {
	if d.jvm != nil {
		d.jvm.Kill()
	}
	if d.side != nil {
		d.side.Kill()
	}
	for _, e := range d.engines {
		e.end()
	}
	d.tmpfs.remove()
	if d.scratch != "" {
		os.RemoveAll(d.scratch)
	}
	if d.dir == "" {
		return
	}
	if left, err := lab.Segments(d.dest, stream); err == nil && len(left) == 0 {
		os.RemoveAll(d.dir)
	} else if !d.told {
		d.say("What was persisted is in %s", d.dest)
	}
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// howToRead prints commands that read the result. They can be pasted unchanged.
func (d *demo) howToRead() {
	d.told = true
	d.say("\nRead what was persisted:")
	d.say("  %s logs %s | less", d.ullage, d.dest)
	d.say("  %s logs --level warning %s    # what needs attention; a healthy JVM has none", d.ullage, d.dest)
	d.say("  %s report %s                 # where the JVM's time went, as a page: ullage-report.html", d.ullage, d.dest)
	d.say("  zstdcat %s | less", filepath.Join(d.dest, stream, "*.zst"))
	d.say("Remove it:\n  rm -r %s", d.dir)
}
