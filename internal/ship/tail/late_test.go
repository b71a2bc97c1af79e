package tail

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A hole that appears in a file between the moves of two blocks is skipped like any other.
// (Records.Solid is the part in which an earlier check found no hole.)
func TestHoleThatCameSinceTheLastBlockIsNotRead(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("x", "info", 120000)) // some MiB
	r.look()
	r.src.Relief.Weigh()
	one := Relief{Want: 1, Least: 1, Keep: ul.Warning}
	if r.src.Relief.Move(one) == 0 {
		t.Fatal("no record was moved to the spool")
	}
	var end int64
	for _, f := range r.src.table.Files {
		end = f.Records.Last().End.Offset
	}
	rw, err := os.OpenFile(r.path("gc.log"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rw.Close()
	hole := (end + 256<<10) &^ 4095
	if hole+64<<10 > end+spool.BlockBytes {
		t.Fatal("the hole is not in the next block")
	}
	if err := unix.Fallocate(int(rw.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, hole, 64<<10); err != nil {
		t.Fatal(err)
	}
	if r.src.Relief.Move(one) == 0 {
		t.Fatal("no record was moved to the spool")
	}
	r.read()
	if n := strings.Count(r.text(), "\x00"); n > 0 {
		t.Errorf("%d NUL bytes of a hole were handed on as if the JVM had written them, want 0", n)
	}
}

// At the start, no descriptor is left to open the spool; a second later, there are some.
// Nothing is read before the spool is open: the lines in its records would be skipped as
// holes.
func TestSpoolThatOpensLateLosesNoLines(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("head", "info", 10))
	r.read()
	r.commit()
	r.write(w, uls("moved", "info", 20000))
	r.move()
	r.write(w, uls("tail", "info", 10))
	saved := r.committed()
	r.src.Close()

	r.now = time.Now()
	r.last = map[File]Chunk{}
	r.src = New(r.cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	r.src.env.now = func() time.Time { return r.now }
	// The file of the spool exists and cannot be opened now (EMFILE).
	restore := onlyTwoDescriptors(t)
	err := r.src.Open()
	restore()
	if err == nil || r.src.Dir() != nil {
		t.Fatalf("the source is open without its spool, error %v", err)
	}
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.src.Close)
	r.src.Start.Restore(saved, false)
	if _, err := r.src.Scanner.Scan(); err != nil {
		t.Fatal(err)
	}
	r.read()
	r.commit()
	total, n := markers(r.text())
	if lines := strings.Count(r.text(), "\n") - n; lines+int(total) < 20020 {
		t.Errorf("%d lines were handed on and %d were counted as dropped, want 20020 in all", lines, total)
	}
	if m := r.src.spool.memory(); m > 256<<10 {
		t.Errorf("everything is durable, but the spool takes %d bytes, want at most %d", m, 256<<10)
	}
}

// onlyTwoDescriptors leaves two free descriptors to the process.
func onlyTwoDescriptors(t *testing.T) (restore func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	var held []int
	for range 3 {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, fd)
	}
	// The kernel assigns the lowest numbers first, so the two numbers below the limit are
	// free.
	limit := held[2]
	unix.Close(held[0])
	unix.Close(held[1])
	// If another descriptor below the limit is closed meanwhile, its number is free as well.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(limit), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		unix.Close(held[2])
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}
}
