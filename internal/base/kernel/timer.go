package kernel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Timer is a [time.Timer] or a [time.Ticker] on a descriptor, see timerfd_create(2). Its clock is
// CLOCK_MONOTONIC. Only one goroutine may call its methods. Create it with [NewTimer] or
// [NewTicker].
type Timer struct {
	// C has room for one tick: if the receiver is slow, the ticker drops ticks.
	C <-chan time.Time

	reset func(time.Duration)
	stop  func()
}

// NewTimer returns a Timer that sends the time once after d, and once after each Reset. If the
// kernel provides no descriptor, it uses a timer of package time.
func NewTimer(d time.Duration) *Timer {
	t, err := open(d, false)
	if err != nil {
		timer := time.NewTimer(d)
		return &Timer{timer.C, func(d time.Duration) { timer.Reset(d) }, func() { timer.Stop() }}
	}
	return t
}

// NewTicker returns a Timer that sends the time every d, which must be positive. The tickers of
// a process tick together if their intervals allow it, but not together with those of other
// processes. If the kernel provides no descriptor, it uses a ticker of package time.
func NewTicker(d time.Duration) *Timer {
	t, err := open(d, true)
	if err != nil {
		ticker := time.NewTicker(d)
		return &Timer{ticker.C, ticker.Reset, ticker.Stop}
	}
	return t
}

// Reset restarts the timer with d. If the timer is just expiring, t may still send the time
// of that expiry.
func (t *Timer) Reset(d time.Duration) { t.reset(d) }

// Stop ends the Timer and frees its descriptor. Nothing is sent afterwards.
func (t *Timer) Stop() { t.stop() }

// open returns a Timer on a descriptor that is set to d.
func open(d time.Duration, periodic bool) (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a timer: %w", err)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	conn, err := file.SyscallConn() // os.File.Fd would make the descriptor block
	if err == nil {
		err = set(conn, d, periodic)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("set a timer: %w", err)
	}
	ends := make(chan time.Time, 1)
	go send(file, ends)
	return &Timer{
		C: ends,
		reset: func(d time.Duration) {
			select {
			case <-ends:
			default:
			}
			_ = set(conn, d, periodic) // it worked in open, so it fails only for a stopped timer, which stays stopped
		},
		stop: func() { file.Close() },
	}, nil
}

// phase is a moment, in ns, at which all tickers of this process tick.
var phase = rand.Int64N(int64(time.Second))

// nextTick returns when a ticker ticks next, in ns: it ticks at the phase and every d before
// and after.
func nextTick(now, d int64) int64 {
	since := (now - phase) % d
	if since < 0 { // the phase is ahead
		since += d
	}
	return now + d - since
}

// set makes the timer end after d, or every d.
func set(conn syscall.RawConn, d time.Duration, periodic bool) error {
	flags, spec := 0, unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, d.Nanoseconds()))} // 0 would disarm it
	if periodic {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return err
		}
		flags, spec.Interval = unix.TFD_TIMER_ABSTIME, spec.Value
		spec.Value = unix.NsecToTimespec(nextTick(now.Nano(), d.Nanoseconds()))
	}
	var err error
	if closed := conn.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), flags, &spec, nil) }); closed != nil {
		return closed
	}
	return err
}

// send sends the time at each end of the timer, until its file is closed.
func send(file *os.File, ends chan<- time.Time) {
	for count := make([]byte, 8); ; {
		if _, err := file.Read(count); err != nil {
			return
		}
		select {
		case ends <- time.Now():
		default:
		}
	}
}
