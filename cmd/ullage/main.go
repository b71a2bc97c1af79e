// Command ullage ships a JVM's log files from a tmpfs to durable storage, so
// that no pause of the JVM ever waits for a disk.
package main

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/cli"
)

// program describes the command line. `ullage COMMAND --help` lists the flags of a command, from their declarations.
func program() cli.Program {
	return cli.Program{
		About: `ullage keeps headroom between a JVM that logs and a disk that stalls.

A JVM writes its log (-Xlog) to files on a tmpfs, where a write never waits for
a disk. ullage follows those files, copies their lines to durable storage, and
frees the memory. It is designed as a Kubernetes sidecar, and runs on any Linux.
`,
		Commands: []cli.Command{
			{Name: "run", Summary: "follow a directory of log files and persist their lines", Run: runCmd},
			{Name: "logs", Summary: "print what was persisted", Run: logsCmd},
			{Name: "check", Summary: "report whether what was persisted is complete", Run: checkCmd},
			{Name: "report", Summary: "show where a JVM's time went: a page, text or JSON", Run: reportCmd},
			{Name: "pauses", Summary: "print how long the application was stopped, by cause", Run: pausesCmd},
			{Name: "incident", Summary: "collect what is known about an incident in one archive", Run: incidentCmd},
			{Name: "levels", Summary: "show a running JVM's log levels, raise them for a while", Run: levelsCmd},
			{Name: "adopt", Summary: "ship a running JVM's log for a while, without preparation", Run: adoptCmd},
			{Name: "status", Summary: "show the state of a running 'ullage run'", Run: statusCmd},
			{Name: "prune", Summary: "remove the copies of pods that are gone from a shared volume", Run: pruneCmd},
			cli.Completion(),
			cli.Version(version),
		},
		Elsewhere: map[string]string{"doctor": "kubectl ullage", "open": "kubectl ullage", "top": "kubectl ullage"},
		More: `Try it, with a JVM on this machine (/dev/shm is a tmpfs):
  mkdir -p /dev/shm/jvm /tmp/durable
  ullage run --source /dev/shm/jvm --dest /tmp/durable &
  java -Xlog:gc*,safepoint:file=/dev/shm/jvm/gc.log:time,uptime,level,tags:filecount=1,filesize=0 -version
  sleep 2; ullage status --source /dev/shm/jvm
  kill %1 && wait %1
  ullage logs /tmp/durable

Flags may be before or after directories and other names; -- ends the flags.
Every flag can also be set in the environment: --dest as ULLAGE_DEST,
--sync-interval as ULLAGE_SYNC_INTERVAL. A flag overrides the environment. Write
durations like 500ms, 10s, 24h or 7d, and sizes like 64Mi, 1Gi or 4096.

Exit status: 0 success, 1 run-time failure, 2 usage error.
`,
	}
}

func main() {
	hide()
	cli.Main("ullage", dispatch)
}

// hide protects the process from other processes of the same user: a JVM that shares the process namespace could read
// the destination and its key through /proc/PID/root, or trace the process. Root and this process itself still can.
// The container runtime can too, as it must for `kubectl exec`. hide also prevents core dumps. If the kernel refuses,
// nothing changes.
func hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// dispatch runs the command at the beginning of args and returns the exit code.
func dispatch(ctx context.Context, args []string, e cli.Env) int {
	e.FlagNames = flagNames
	return program().Run(ctx, args, e)
}
