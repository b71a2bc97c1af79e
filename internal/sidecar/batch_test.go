package sidecar

import (
	"os"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEveryThreadIsBatchAndSoAreThoseThatTheyMake(t *testing.T) {
	if err := batch(); err != nil {
		t.Fatal(err)
	}
	var working sync.WaitGroup
	for range 8 { // each on a thread of its own
		working.Go(func() {
			var ts unix.Timespec
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 20e6}, &ts)
		})
	}
	working.Wait()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if attr, err := unix.SchedGetAttr(id, 0); err == nil && attr.Policy != unix.SCHED_BATCH {
			t.Errorf("thread %d has policy %d, want %d (SCHED_BATCH)", id, attr.Policy, unix.SCHED_BATCH)
		}
	}
}
