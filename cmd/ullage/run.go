package main

import (
	"context"
	"flag"
	"os"
	"runtime/debug"
	"sync"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/sidecar"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/kafka"
	"github.com/ullage/ullage/internal/sink/otlp"
	"github.com/ullage/ullage/internal/sink/s3"
	"github.com/ullage/ullage/internal/sink/stdout"
	"golang.org/x/sys/unix"
)

const runAbout = `ullage run follows the log files in a directory on tmpfs and persists their
lines.

Usage:
  ullage run --source DIR --dest DIR [flags]

Examples:
  ullage run --source /dev/shm/jvm --dest /var/lib/ullage --compress none
  ullage run --source /dev/shm/jvm --dest /var/lib/ullage --adopt 'gc*=info'

It waits for the source to appear and follows every matching file in it. If the
destination fails, the backlog stays on the tmpfs and ullage retries. On SIGTERM
or SIGINT it reads every file to its end, commits, and exits with 0. It refuses
a destination that another 'ullage run' uses.
`

// gcPercent makes the collector run four times as often as by default. The collector need not scan the queue, and the
// rest of the heap is small. Shipping allocates next to nothing: while 285 MB of log are shipped, the collector runs
// seven times. The soft limit alone does not limit the memory: on a busy machine, the runtime exceeds it rather than
// collect all the time.
const gcPercent = 25

// memoryBesideQueue is how much memory the Go runtime may use in addition to the queue, unless GOMEMLIMIT is set. At
// this limit, the runtime collects more often than gcPercent requires: up to 100 times a second, which takes half of a
// core. So the live heap and the garbage that gcPercent allows must fit into this memory even with 2,048 open files,
// whose heap is 8 MiB.
const memoryBesideQueue = 22 << 20

func runCmd(ctx context.Context, args []string, e cli.Env) int {
	cfg := sidecar.DefaultConfig()
	cfg.SinkKinds = sinkKinds()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	e.Groups = cfg.Groups()
	code, ok := e.Parse(fs, runAbout, args, func() []error { return append(cli.Unexpected(fs.Args()), cfg.Validate()...) })
	if !ok {
		return code
	}
	busy := beModest(int64(cfg.Ship.Queue), e)
	if err := sidecar.Run(ctx, cfg, build.Read(version), busy, cfg.Log.Logger(e.Stderr)); err != nil {
		return e.Fail("run", err)
	}
	return cli.OK
}

// beModest limits the memory and the processors that the Go runtime uses. queues is the size of all queues in bytes.
// It returns a function that adjusts the number of processors when lines begin or cease to flow, or nil if GOMAXPROCS
// is set.
func beModest(queues int64, e cli.Env) (busy func(bool)) {
	debug.SetGCPercent(gcPercent)
	if limit, _ := e.LookupEnv("GOMEMLIMIT"); limit == "" {
		debug.SetMemoryLimit(kernel.SoftLimit(memoryBesideQueue + queues))
	}
	if processors, _ := e.LookupEnv("GOMAXPROCS"); processors == "" {
		busy = useProcessors
		busy(true)
	}
	return busy
}

// sinkKinds returns the kinds of sinks, by the schemes of their URLs.
func sinkKinds() map[string]sink.Kind {
	return map[string]sink.Kind{
		"kafka":      kafka.Kind(),
		"otlp+http":  otlp.Kind(),
		"otlp+https": otlp.Kind(),
		"s3":         s3.Kind(),
		"stdout":     stdout.Kind(&standardOutput{}),
	}
}

// standardOutput is the standard output through a descriptor other than 1: with descriptor 1, the runtime ends the
// process once the pipe has no reader.
type standardOutput struct {
	once sync.Once
	file *os.File
	err  error
}

func (o *standardOutput) Write(p []byte) (int, error) {
	o.once.Do(func() {
		fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
		if o.err = err; err == nil {
			o.file = os.NewFile(uintptr(fd), "standard output")
		}
	})
	if o.err != nil {
		return 0, o.err
	}
	return o.file.Write(p)
}
