package sidecar

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// batch makes every thread of the process SCHED_BATCH (sched(7)). Such a thread does not preempt
// a running one when it wakes up. It keeps its fair share of the processors. So a JVM that
// shares a processor with the sidecar is not interrupted in the middle of its work, such as a
// write to its log. The policy needs no privilege, and holds across cgroups. A new thread
// inherits the policy of the thread that creates it.
func batch() error {
	for {
		changed, err := batchThreads()
		if err != nil || !changed {
			return err
		}
		// A thread that still had the old policy may have created another thread in the meantime.
	}
}

// batchThreads changes the policy of all existing threads, and reports whether it had to change
// any.
func batchThreads() (changed bool, err error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false, fmt.Errorf("list the threads: %w", err)
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return false, fmt.Errorf("list the threads: %w", err)
		}
		attr, err := unix.SchedGetAttr(id, 0)
		if errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return false, fmt.Errorf("read a thread's policy: %w", err)
		}
		if attr.Policy != unix.SCHED_NORMAL {
			continue // already SCHED_BATCH, or a policy that was set on purpose
		}
		attr.Policy = unix.SCHED_BATCH
		if err := unix.SchedSetAttr(id, attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return false, fmt.Errorf("set a thread's policy: %w", err)
		}
		changed = true
	}
	return changed, nil
}
