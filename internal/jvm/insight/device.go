package insight

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

const (
	maxDevices    = 16 // disks that are followed; further disks are left out
	maxDeviceName = 32 // the kernel's DISK_NAME_LEN
)

// device has the counters of a block device at one time. They start at zero when the device
// appears.
type device struct {
	name   [maxDeviceName]byte // padded with zeros; an array, because samples are overwritten again and again
	done   int64               // completed reads and writes
	waited time.Duration       // the sum of their durations
	busy   time.Duration       // the time during which a request was under way
}

func (d *device) String() string { return string(bytes.TrimRight(d.name[:], "\x00")) }

// devices reads the counters of the node's disks into list, as many as fit, and returns how many it
// read. It leaves out disks that were never used, loop devices, memory disks and partitions: if a
// request waits for a partition, it waits for the disk. numbered is the disk that has the given
// number, such as "254:0", or that has a partition with that number. It is returned even if it is
// not in the list, and is zero if there is no such disk.
func (k kernelCounters) devices(list *[maxDevices]device, number string) (n int, numbered device) {
	var last device // the last device that is not a partition
	disk := ""
	for line := range bytes.Lines(kernel.ReadUpTo(unix.AT_FDCWD, filepath.Join(k.root, "proc/diskstats"), maxDiskFile)) {
		name, one, ok := parseDevice(line)
		if !ok {
			continue
		}
		partition := isPartition(disk, name)
		if !partition {
			disk, last = name, one
		}
		if isNumbered(line, number) {
			numbered = last
		}
		if partition || n == len(list) {
			continue
		}
		if one.done == 0 && one.busy == 0 || strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") {
			continue
		}
		list[n] = one
		n++
	}
	return n, numbered
}

// isNumbered reports whether a line describes the device with a number such as "254:0".
func isNumbered(line []byte, number string) bool {
	wantMajor, wantMinor, ok := strings.Cut(number, ":")
	major, rest, _ := bytes.Cut(bytes.TrimLeft(line, " "), []byte(" "))
	minor, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	return ok && string(major) == wantMajor && string(minor) == wantMinor
}

// parseDevice parses a line of the form in Documentation/admin-guide/iostats.rst. Times
// are in milliseconds. A line without its newline was cut by the bound on the file.
func parseDevice(line []byte) (name string, d device, ok bool) {
	fields := bytes.Fields(line)
	if len(fields) < 14 || !bytes.HasSuffix(line, []byte("\n")) || len(fields[2]) > maxDeviceName || !isName(fields[2]) {
		return "", d, false
	}
	var numbers [5]int64
	for i, field := range [...]int{3, 6, 7, 10, 12} { // reads, time of reads, writes, time of writes, time busy
		n, err := strconv.ParseInt(string(fields[field]), 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return "", d, false
		}
		numbers[i] = n
	}
	copy(d.name[:], fields[2])
	d.done = numbers[0] + numbers[2]
	d.waited = time.Duration(numbers[1]+numbers[3]) * time.Millisecond
	d.busy = time.Duration(numbers[4]) * time.Millisecond
	return string(fields[2]), d, true
}

// isName reports whether a text can be shown as the name of a device.
func isName(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// isPartition reports whether a name is that of a partition of a disk, such as sda1 of sda, or
// nvme0n1p1 of nvme0n1. dm-10 is not a partition of dm-1.
func isPartition(disk, name string) bool {
	rest, ok := strings.CutPrefix(name, disk)
	if disk == "" || !ok || rest == "" {
		return false
	}
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		if rest, ok = strings.CutPrefix(rest, "p"); !ok {
			return false
		}
	}
	_, err := strconv.ParseUint(rest, 10, 16)
	return err == nil
}

// busiest finds the disk that was busy longest between two samples, and returns how much
// the counters of that disk grew. ok is false unless that disk was busy for at least half
// of the time.
func busiest(from, to *sample) (grown device, ok bool) {
	for i := range to.disks[:to.numDisks] {
		is := &to.disks[i]
		for k := range from.disks[:from.numDisks] {
			if one, ok := is.since(&from.disks[k]); ok && one.busy > grown.busy {
				grown = one
			}
		}
	}
	return grown, grown.busy > 0 && grown.busy >= to.at.Sub(from.at)/2
}

// since returns the growth of the counters since an earlier time. ok is false if the two devices
// differ or a counter was reset.
func (d *device) since(was *device) (grown device, ok bool) {
	if was.name != d.name || d.busy < was.busy || d.done < was.done || d.waited < was.waited {
		return device{}, false
	}
	return device{name: d.name, done: d.done - was.done, waited: d.waited - was.waited, busy: d.busy - was.busy}, true
}
