package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A mechanism is the way in which other processes saturate the disk so that writes to a log wait.
type mechanism struct {
	name    string
	dirty   bool // only a few bytes may wait for the disk in the page cache
	journal bool // other processes change and sync many files
}

var mechanisms = []mechanism{
	{"write-back", true, false},
	{"journal", false, true},
	{"both", true, true},
}

const (
	throttles  = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device" // limits all processes; needs version 1 of control groups
	diskRate   = 10 << 20                                               // bytes a second
	dirtyBytes = 4 << 20
)

const saturatedMethod = "The disk, an ext4 with a journal of 4 MB on a loop device, takes 10 MB/s (`blkio.throttle.write_bps_device`). For %g s, which the second plot shades, four processes copy files of 16 MB to it and sync them. " +
	"*Write-back*: in addition, at most 4 MB of the disk's data may wait in the page cache (`/sys/class/bdi/*/strict_limit` and `max_bytes`, which apply to this disk only), as on a host whose memory is full of what others have written. " +
	"*Journal*: instead, two processes create 50 small files, sync the file system and delete them, again and again. *Both* is all of it. " +
	"`await` is the mean time of a direct write of 4 KiB, ten times a second; utilisation is what the disk has written of what it takes."

// saturated measures JVMs while other processes saturate the disk of their log.
func (a application) saturated() (*experiment, error) {
	x := &experiment{
		Name: "saturated", Title: "Stop the world, on a disk that is saturated", Plot: "longest", Shade: saturating.shade(),
		Columns:  append(append([]column{}, stoppedColumns...), column{"await", "await, ms"}, column{"use", "utilisation, %"}),
		Question: "How long does an application stand still when others write more to the disk than it takes?",
		Method:   fmt.Sprintf(stoppedMethod, rated.name, saturating.runs.Seconds()) + " " + fmt.Sprintf(saturatedMethod, saturating.bad().Seconds()),
		Threat:   stoppedThreat,
	}
	can, cannot := saturable()
	if len(can) == 0 {
		x.NotRun = cannot
		return x, nil
	}
	if cannot != "" {
		x.Method += " Not shown: " + cannot + "."
	}
	newest := a.jdks[len(a.jdks)-1]
	var all []entry
	for i, m := range can {
		ways := loggings
		if last := i == len(can)-1; !last {
			ways = essentialLoggings()
		}
		if a.rounds >= leastRounds || i == len(can)-1 {
			all = append(all, a.stops(x, rated.on(newest)+", "+m.name, setting{newest, rated, m.fault(saturating)}, ways)...)
		}
	}
	return x, a.inTurn(x, all)
}

// long measures JVMs on a saturated disk for so long that ten hiccups are beyond p99.99 in a single
// round.
func long(a application) (*experiment, error) {
	x := &experiment{
		Name: "long", Title: "Stop the world, on a disk that is saturated for three minutes", Plot: "p9999", Shade: lasting.shade(),
		Columns:  append(append([]column{}, stoppedColumns...), column{"await", "await, ms"}, column{"use", "utilisation, %"}),
		Question: "How long are the rare stops, which a short run hardly ever shows?",
		Method:   fmt.Sprintf(stoppedMethod, rated.name, lasting.runs.Seconds()) + " The disk is saturated as in the previous experiment, by its last mechanism.",
		Threat:   stoppedThreat,
	}
	can, cannot := saturable()
	if len(can) == 0 {
		x.NotRun = cannot
		return x, nil
	}
	newest, last := a.jdks[len(a.jdks)-1], can[len(can)-1]
	return x, a.quiet.inTurn(x, 1, a.stops(x, rated.on(newest)+", "+last.name, setting{newest, rated, last.fault(lasting)}, essentialLoggings()))
}

// essentialLoggings returns three ways to log: off, to the disk, and to a tmpfs with ullage.
func essentialLoggings() (some []logging) {
	for _, l := range loggings {
		if l.place == "off" || l.place == "shipped" || l.place == "disk" && l.flags == nil {
			some = append(some, l)
		}
	}
	return some
}

// saturable returns the mechanisms that this machine supports, and why it does not support the
// others.
func saturable() (can []mechanism, cannot string) {
	if os.Geteuid() != 0 {
		return nil, onlyRoot
	}
	if _, err := os.Stat(throttles); err != nil {
		return nil, "it has no `" + throttles + "`, by which a disk is made slow (version 1 of control groups)"
	}
	limits, _ := filepath.Glob("/sys/class/bdi/*/strict_limit") // the pattern is well-formed
	if len(limits) > 0 {
		return mechanisms, ""
	}
	for _, m := range mechanisms {
		if !m.dirty {
			can = append(can, m)
		}
	}
	return can, "write-back, as this kernel has no `/sys/class/bdi/*/strict_limit` (Linux 6.2 or later)"
}

func (m mechanism) fault(when spell) fault {
	return fault{when, func(v *volume) error { return v.saturate(m, when.bad()) }, []string{"-J", "size=4"}}
}

// saturate makes the volume slow and makes other processes write to it. The volume stays slow until
// relieve is called.
func (v *volume) saturate(m mechanism, lasts time.Duration) error {
	number, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(v.Loop), "dev"))
	if err != nil {
		return fmt.Errorf("find the device of a disk: %w", err)
	}
	device := string(bytes.TrimSpace(number))
	if err := v.slow(device, m.dirty); err != nil {
		return fmt.Errorf("make a disk slow: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	for n := range 4 {
		err = errors.Join(err, startLoop(ctx, `dd if=/dev/zero of="$1" bs=1M count=16 conv=fsync`, filepath.Join(v.Dir, fmt.Sprint("copy-", n))))
	}
	for n := 0; m.journal && n < 2; n++ {
		err = errors.Join(err, startLoop(ctx, `mkdir -p "$1"; i=0; while [ $i -lt 50 ]; do echo small >"$1/$i"; i=$((i+1)); done; sync -f "$1"; rm -r "$1"`, filepath.Join(v.Dir, fmt.Sprint("small-", n))))
	}
	if err != nil {
		return fmt.Errorf("write to a disk: %w", err)
	}
	v.seen, err = v.observe(ctx, lasts)
	return err
}

// slow limits the speed of the device and, if dirty is set, how much of its data may wait in the page cache.
func (v *volume) slow(device string, dirty bool) error {
	limit := func(perSecond int) error {
		return os.WriteFile(throttles, fmt.Appendf(nil, "%s %d\n", device, perSecond), 0)
	}
	if err := limit(diskRate); err != nil {
		return err
	}
	v.relieve = func() error { return limit(0) }
	if !dirty {
		return nil
	}
	// These settings of the device would outlive the disk, so relieve resets them too.
	knob := func(name, value string) error {
		return os.WriteFile(filepath.Join("/sys/class/bdi", device, name), []byte(value), 0)
	}
	v.relieve = func() error { return errors.Join(limit(0), knob("strict_limit", "0"), knob("max_ratio", "100")) }
	return errors.Join(knob("strict_limit", "1"), knob("max_bytes", strconv.Itoa(dirtyBytes)))
}

// startLoop starts a shell that runs a line repeatedly until the context ends. A process that waits for the disk
// ends only after the disk has taken its data.
func startLoop(ctx context.Context, line, path string) error {
	loop := exec.CommandContext(ctx, "sh", "-c", "while :; do "+line+"; done", "sh", path)
	if err := loop.Start(); err != nil {
		return err
	}
	go func() { _ = loop.Wait() }() // the error is the end of the context
	return nil
}

// observe measures, until the context ends, how long small direct writes take and how much the disk writes.
func (v *volume) observe(ctx context.Context, lasts time.Duration) (figures, error) {
	f, err := os.OpenFile(filepath.Join(v.Dir, "probe"), os.O_CREATE|os.O_WRONLY|unix.O_DIRECT, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make a file to probe a disk: %w", err)
	}
	defer f.Close()
	before, err := writtenTo(v.Loop)
	if err != nil {
		return nil, err
	}
	block := aligned(4096)
	var sum time.Duration
	writes := 0
	for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; writes++ {
		began := time.Now()
		if _, err := f.WriteAt(block, 0); err != nil {
			return nil, fmt.Errorf("probe a disk: %w", err)
		}
		sum += time.Since(began)
		select {
		case <-ctx.Done():
			tick.Stop()
		case <-tick.C:
		}
	}
	after, err := writtenTo(v.Loop)
	return figures{"await": sum.Seconds() * 1000 / float64(max(1, writes)), "use": 100 * (after - before) / (diskRate * lasts.Seconds())}, err
}

// aligned returns a block with the alignment that a direct write needs.
func aligned(size int) []byte {
	block := make([]byte, 2*size)
	skip := size - int(uintptr(unsafe.Pointer(&block[0]))%uintptr(size))
	return block[skip : skip+size]
}

// writtenTo returns how many bytes have been written to a device since it was created.
func writtenTo(device string) (float64, error) {
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "stat"))
	if err != nil {
		return 0, fmt.Errorf("read the statistics of a disk: %w", err)
	}
	return sectorsWritten(string(text))
}

// sectorsWritten converts the seventh field of a device's stat from sectors of 512 bytes to bytes.
func sectorsWritten(stat string) (float64, error) {
	fields := strings.Fields(stat)
	if len(fields) < 7 {
		return 0, fmt.Errorf("read the statistics of a disk: %q", stat)
	}
	sectors, err := strconv.ParseFloat(fields[6], 64)
	if err != nil {
		return 0, fmt.Errorf("read the statistics of a disk: %w", err)
	}
	return 512 * sectors, nil
}
