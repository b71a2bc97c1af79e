package sidecar

import (
	"os"
	"strconv"
	"strings"
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

func TestPagesOfTheProgramAreGivenBack(t *testing.T) {
	pages, err := programPages()
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages of the program: %v, %v", pages, err)
	}
	before := mapped(t)
	if err := pages.release(); err != nil {
		t.Fatal(err)
	}
	if after := mapped(t); after >= before {
		t.Errorf("RssFile %d KiB, was %d: want less", after, before)
	}
}

// mapped returns how many KiB of files the process has mapped and in memory.
func mapped(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}
