package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// floodEnv is the environment variable that passes a Flood, as JSON, to its process.
const floodEnv = "ULLAGE_LAB_FLOOD"

// board is the memory that the process of a flood shares with the process that
// started it.
type board struct {
	phase atomic.Int32 // set by the observer
	lines atomic.Int64 // attempted
	bytes atomic.Int64 // written
	lost  atomic.Int64 // records not written, or only in part
	took  [MaxPhases]latencies
}

// BeFlood runs as the writer, and does not return, if [StartFlood] has started this process. [Main] calls
// BeFlood; a program that is not a test must call it first.
func BeFlood() {
	text := os.Getenv(floodEnv)
	if text == "" {
		return
	}
	if err := beFlood([]byte(text)); err != nil {
		fmt.Fprintln(os.Stderr, "flood:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// beFlood writes until standard input ends, then prints the FloodReport on standard output.
func beFlood(text []byte) error {
	var f Flood
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	// Go's runtime must not run between two readings of the clock.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(max(2, runtime.NumCPU()))
	runtime.LockOSThread()
	b, err := mapBoard(3)
	if err != nil {
		return err
	}
	w := &flooder{flood: f, board: b, records: NewRecords(f.Seed)}
	if err := w.open(); err != nil {
		return err
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // returns at the end of standard input
		w.over.Store(true)
	}()
	if err := w.run(); err != nil {
		return err
	}
	if err := unix.Close(w.fd); err != nil {
		return fmt.Errorf("close %s: %w", f.Path, err)
	}
	return json.NewEncoder(os.Stdout).Encode(FloodReport{
		Seed: f.Seed, Records: w.records.Count(), Lines: w.records.Lines(), Bytes: b.bytes.Load(), Losses: w.losses,
	})
}

func mapBoard(fd int) (*board, error) {
	mem, err := unix.Mmap(fd, 0, int(unsafe.Sizeof(board{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the shared memory: %w", err)
	}
	return (*board)(unsafe.Pointer(&mem[0])), nil
}

// flooder is the writer. It runs on one thread.
type flooder struct {
	flood   Flood
	board   *board
	fd      int
	size    int64 // of the file
	slot    int   // number of the next archive
	records *Records
	losses  []Loss
	over    atomic.Bool
	naps    int64 // how often the thread went to sleep before the current write
}

const (
	tick      = 500 * time.Microsecond
	slowWrite = time.Millisecond
	// mostBehind is how far a delayed writer may fall behind its rate. A delayed JVM has done less work, and does not
	// log more later.
	mostBehind = 100 * time.Millisecond
)

func (w *flooder) open() error {
	fd, err := unix.Open(w.flood.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return fmt.Errorf("open %s: %w", w.flood.Path, err)
	}
	w.fd, w.size = fd, 0
	return nil
}

// rotate rotates in the same way as HotSpot and [Writer].
func (w *flooder) rotate() error {
	if err := unix.Close(w.fd); err != nil {
		return fmt.Errorf("close %s: %w", w.flood.Path, err)
	}
	if err := toArchive(w.flood.Path, w.slot, w.flood.Files); err != nil {
		return err
	}
	w.slot = (w.slot + 1) % w.flood.Files
	return w.open()
}

func (w *flooder) run() error {
	begun := time.Now()
	w.naps = naps()
	for sent := int64(0); !w.over.Load(); {
		elapsed := time.Since(begun)
		due := sent + 64<<10
		if w.flood.Rate > 0 {
			due = int64(elapsed.Seconds() * float64(w.flood.Rate))
			if behind := time.Duration(float64(due-sent) / float64(w.flood.Rate) * 1e9); behind > mostBehind {
				begun, due, sent = time.Now(), 1, 0
			}
		}
		for sent < due {
			record, _ := w.records.Next()
			if err := w.write(record); err != nil {
				return err
			}
			sent += int64(len(record))
		}
		w.board.lines.Store(int64(w.records.Lines()))
		if w.flood.Rate > 0 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(tick)}, nil)
		}
		w.naps = naps()
	}
	return nil
}

// write writes one record as HotSpot's stdio does: 4096 bytes at a time. After the first ENOSPC, the rest of the
// record is lost.
func (w *flooder) write(record []byte) error {
	written := 0
	for written < len(record) {
		n, errno := w.timed(record[written:min(len(record), written-written%stdioBytes+stdioBytes)])
		if errno == unix.ENOSPC {
			w.lose(written)
			break
		}
		if errno != 0 {
			return fmt.Errorf("write line %d: %w", w.records.Lines(), errno)
		}
		written += n
	}
	w.board.bytes.Add(int64(written))
	w.size += int64(written)
	if w.flood.Files > 0 && w.flood.FileBytes > 0 && w.size >= w.flood.FileBytes && written == len(record) {
		return w.rotate()
	}
	return nil
}

// timed makes one write(2) and measures how long it takes. The call is a raw system call, which does not involve the Go
// scheduler, so that the scheduler does not affect the time.
func (w *flooder) timed(p []byte) (n int, errno syscall.Errno) {
	begun := time.Now()
	r, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(w.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	took := time.Since(begun)
	slept := false
	if took > slowWrite {
		now := naps()
		slept, w.naps = now != w.naps, now
	}
	w.board.took[w.board.phase.Load()].add(took, slept)
	return int(r), errno
}

// lose records that only some bytes of the current record were written.
func (w *flooder) lose(written int) {
	w.board.lost.Add(1)
	index := w.records.Count() - 1
	if n := len(w.losses); n > 0 && written == 0 && w.losses[n-1].Record+w.losses[n-1].Records == index {
		w.losses[n-1].Records++
		return
	}
	w.losses = append(w.losses, Loss{Record: index, Records: 1, Written: written})
}

// naps returns how often this thread gave up the CPU to wait for something.
func naps() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return u.Nvcsw
}
