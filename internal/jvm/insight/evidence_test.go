package insight

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// disks writes the counters of a node whose disk vda has been busy for the given milliseconds.
func (r *rig) disks(busy, requests int) {
	r.Helper()
	r.file("proc/diskstats", fmt.Sprintf(""+
		"   7       0 loop0 11 0 28 900000 0 0 0 0 0 900000 0 0 0 0 0 0 0\n"+
		" 253       0 vda 100 5 800 20 %d 7 900 %d 3 %d 400 0 0 0 0 0 0\n"+
		" 253       1 vda1 100 5 800 20 40 7 900 300 3 %d 400 0 0 0 0 0 0\n"+
		" 253      16 vdb 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n", 40+requests, 300+busy, busy, busy+1000))
}

func TestEvidenceOfAVerdict(t *testing.T) {
	for _, test := range []struct {
		name     string
		after    kernelFiles
		busy     int // ms
		requests int
		want     string
	}{
		{"the disk that was busy", kernelFiles{disk: 1_400_000}, 1800, 4,
			"vda was busy for 1.8 s of 2.0 s, 4 requests took 450 ms on average; the node's tasks waited for I/O: 1.4 s of 2.0 s, all of them at once: 0 ms"},
		{"a disk whose requests have not ended", kernelFiles{disk: 1_400_000}, 1800, 0,
			"vda was busy for 1.8 s of 2.0 s; the node's tasks waited for I/O: 1.4 s of 2.0 s, all of them at once: 0 ms"},
		{"no disk was busy", kernelFiles{disk: 1_400_000}, 300, 1, "the node's tasks waited for I/O: 1.4 s of 2.0 s, all of them at once: 0 ms"},
		{"a limit", kernelFiles{throttled: 1_300_000}, 1800, 4, "throttled for 1.3 s of 2.0 s by the CPU limit"},
		{"a limit of two processors", kernelFiles{throttled: 3_800_000}, 1800, 4, "throttled for 3.8 s, as the sum of all processors, of 2.0 s by the CPU limit"},
		{"memory", kernelFiles{memory: 1_300_000}, 1800, 4, "the node's tasks waited for memory: 1.3 s of 2.0 s, all of them at once: 0 ms"},
		{"no counter", kernelFiles{}, 1800, 4, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.kernel(kernelFiles{})
			r.disks(0, 0)
			r.judge.step(r.time)
			r.time = r.time.Add(2 * time.Second)
			r.read("gc.log", idlePause, idleTimes, idleSafe)
			r.kernel(test.after)
			r.disks(test.busy, test.requests)
			r.judge.step(r.time)
			if recent := r.Recent(); len(recent) != 1 || recent[0].Evidence != test.want {
				t.Errorf("got %+v, want the evidence %q", recent, test.want)
			}
			if !strings.Contains(r.log.String(), fmt.Sprintf("evidence=%q", test.want)) {
				t.Errorf("the log is %q, want the evidence %q in it", r.log.String(), test.want)
			}
		})
	}
}

// If the destination is on a disk, that disk is named, whether it is busy or not.
func TestTheDestinationsDiskIsEvidence(t *testing.T) {
	const tasks = "the node's tasks waited for I/O: 1.4 s of 2.0 s, all of them at once: 0 ms"
	for _, test := range []struct {
		name   string
		device string // the destination's device, as in mountinfo
		busy   int    // ms, vda
		want   string
	}{
		{"the busiest", "253:0", 1800, "vda, which has the destination, was busy for 1.8 s of 2.0 s, 4 requests took 450 ms on average; " + tasks},
		{"a partition of it", "253:1", 1800, "vda, which has the destination, was busy for 1.8 s of 2.0 s, 4 requests took 450 ms on average; " + tasks},
		{"another one", "253:16", 1800, "vda was busy for 1.8 s of 2.0 s, 4 requests took 450 ms on average; vdb, which has the destination, was busy for 0 ms of 2.0 s; " + tasks},
		{"not very busy", "253:0", 300, "vda, which has the destination, was busy for 300 ms of 2.0 s, 4 requests took 75 ms on average; " + tasks},
		{"a loop device", "7:0", 300, "loop0, which has the destination, was busy for 0 ms of 2.0 s; " + tasks},
		{"no block device", "0:44", 300, tasks},
		{"a device without a line in diskstats", "253:99", 300, tasks},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.judge.sampler.dest = "/var/lib/ullage/prod/web"
			r.file("proc/self/mountinfo", "27 1 0:7 / / rw - overlay overlay rw\n28 27 "+test.device+" /a /var/lib/ullage rw - ext4 /dev/x rw\n")
			r.kernel(kernelFiles{})
			r.disks(0, 0)
			r.judge.step(r.time)
			r.time = r.time.Add(2 * time.Second)
			r.read("gc.log", idlePause, idleTimes, idleSafe)
			r.kernel(kernelFiles{disk: 1_400_000})
			r.disks(test.busy, 4)
			r.judge.step(r.time)
			if recent := r.Recent(); len(recent) != 1 || recent[0].Verdict != Disk || recent[0].Evidence != test.want {
				t.Errorf("got %+v, want the evidence %q", recent, test.want)
			}
		})
	}
}

func TestThrottlingInVersion1OfCgroupsHasItsPeriods(t *testing.T) {
	r := newRig(t)
	group := "sys/fs/cgroup/cpu/docker/one/cpu.stat"
	r.file("proc/17/comm", "java\n")
	r.file("proc/17/cgroup", "5:memory:/docker/one\n4:cpu,cpuacct:/docker/one\n0::/\n")
	r.file(group, "nr_periods 10\nnr_throttled 2\nthrottled_time 1000000\n")
	r.judge.step(r.time)
	r.time = r.time.Add(2 * time.Second)
	r.read("gc.log", idlePause, idleTimes, idleSafe)
	r.file(group, "nr_periods 30\nnr_throttled 16\nthrottled_time 1401000000\n")
	r.judge.step(r.time)
	want := "throttled for 1.4 s of 2.0 s by the CPU limit in 14 periods"
	if recent := r.Recent(); len(recent) != 1 || recent[0].Verdict != Throttled || recent[0].Evidence != want {
		t.Errorf("got %+v, want the verdict %q with %q", recent, Throttled, want)
	}
}

func TestDevicesAreThoseThatWereUsed(t *testing.T) {
	r := newRig(t)
	var text strings.Builder
	text.WriteString("8 0 sda 1 0 0 0 0 0 0 0 0 1 0\n8 1 sda1 1 0 0 0 0 0 0 0 0 1 0\n65 0 sdaa 1 0 0 0 0 0 0 0 0 1 0\n")
	text.WriteString("259 0 nvme0n1 1 0 0 0 0 0 0 0 0 1 0\n259 1 nvme0n1p1 1 0 0 0 0 0 0 0 0 1 0\n")
	text.WriteString("252 1 dm-1 1 0 0 0 0 0 0 0 0 1 0\n252 10 dm-10 1 0 0 0 0 0 0 0 0 1 0\n")
	text.WriteString("1 0 ram0 1 0 0 0 0 0 0 0 0 1 0\n8 32 idle 0 0 0 0 0 0 0 0 0 0 0\n8 48 bad\x1b 1 0 0 0 0 0 0 0 0 1 0\n8 64 below -1 0 0 0 0 0 0 0 0 1 0\n8 80 cut 1 0 0 0 0 0 0 0 0 1 1")
	r.file("proc/diskstats", text.String())
	var list [maxDevices]device
	n, _ := r.judge.sampler.kernel.devices(&list, "")
	var got []string
	for i := range list[:n] {
		got = append(got, list[i].String())
	}
	if want := "sda sdaa nvme0n1 dm-1 dm-10"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.file("proc/diskstats", strings.Repeat(text.String()[:30], 5000))
	if n, _ := r.judge.sampler.kernel.devices(&list, ""); n != maxDevices {
		t.Errorf("%d of very many disks are followed, want %d", n, maxDevices)
	}
}

func FuzzDevices(f *testing.F) {
	f.Add([]byte(" 253 0 vda 100 5 800 20 40 7 900 300 3 17 400 0 0 0 0 0 0\n"))
	f.Add([]byte("8 0 sda 9223372036854775807 0 0 9223372036854775807 9 0 0 9 0 9 0\n"))
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "proc"), 0o755); err != nil {
		f.Fatal(err)
	}
	k := kernelCounters{root: dir}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, "proc/diskstats"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		var list [maxDevices]device
		n, _ := k.devices(&list, "8:0")
		for i := range list[:n] {
			if d := &list[i]; d.done < 0 || d.waited < 0 || d.busy < 0 || !isName([]byte(d.String())) {
				t.Errorf("got %+v from %q, want a valid name and no figure below 0", d, text)
			}
		}
	})
}

// The counters of the real kernel can be read, whichever of them it offers.
func TestTheMachinesOwnCountersCanBeRead(t *testing.T) {
	dir := t.TempDir()
	s := newSampler(Config{Root: "/", Dest: dir})
	s.sample(time.Now())
	one := &s.samples[0]
	t.Logf("%s is on the device %s: %q", dir, s.number, one.dest.String())
	t.Logf("pressure of the node: %v", one.node)
	t.Logf("cgroups of JVMs: %v: %v", s.cgroups, one.jvms)
	for i := range one.disks[:one.numDisks] {
		t.Logf("%s: %d requests, %v waited, %v busy", &one.disks[i], one.disks[i].done, one.disks[i].waited, one.disks[i].busy)
	}
}

func BenchmarkSample(b *testing.B) {
	s := newSampler(Config{Root: "/"})
	for b.Loop() {
		s.sample(time.Now())
	}
}

// If the process of a JVM is visible, the evidence has the kernel function in which the VM thread waited
// uninterruptibly, and the JVM's major page faults. A wait for a lock of the JVM itself is interruptible and therefore
// not evidence.
func TestWhatTheKernelShowsOfAJVMIsEvidence(t *testing.T) {
	stat := func(name, state string, faults int) string {
		return fmt.Sprintf("17 (%s) %s 1 17 17 0 -1 4194304 900 0 %d 0 5 1 0 0 20 0 30 0 100 1 1\n", name, state, faults)
	}
	for _, test := range []struct {
		name    string
		state   string // of the VM thread during the stop
		wchan   string
		faults  int
		disk    int // the growth of the node's counter, in microseconds
		verdict Verdict
		want    string
	}{
		{"a journal", "D", "jbd2_log_wait_commit", 0, 1_400_000, Disk, "a VM thread waited in the kernel function jbd2_log_wait_commit; the node's tasks waited for I/O: 1.4 s of 2.0 s, all of them at once: 0 ms"},
		{"a frozen file system, which no counter shows", "D", "percpu_rwsem_wait", 0, 0, Unknown, "a VM thread waited in the kernel function percpu_rwsem_wait"},
		{"page faults", "S", "futex_do_wait", 7, 0, Unknown, "7 major page faults of the JVM"},
		{"both", "D", "folio_wait_bit_common", 3, 0, Unknown, "a VM thread waited in the kernel function folio_wait_bit_common; 3 major page faults of the JVM"},
		{"the kernel hides its functions", "D", "0", 0, 0, Unknown, ""},
		{"no name of a function", "D", "a b", 0, 0, Unknown, ""},
		{"a wait of the JVM's own", "S", "futex_do_wait", 0, 0, Unknown, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.kernel(kernelFiles{})
			r.file("proc/17/stat", stat("java", "S", 1000))
			r.file("proc/17/task/17/comm", "java\n")
			r.file("proc/17/task/19/comm", vmThread+"\n")
			r.file("proc/17/task/19/stat", stat("VM) D (Thread", "S", 0))
			r.file("proc/17/task/19/wchan", "futex_do_wait")
			r.judge.step(r.time)
			r.time = r.time.Add(time.Second)
			r.file("proc/17/task/19/stat", stat("VM) S (Thread", test.state, 0))
			r.file("proc/17/task/19/wchan", test.wchan)
			r.judge.step(r.time)
			r.time = r.time.Add(time.Second)
			r.file("proc/17/task/19/stat", stat(vmThread, "S", 0))
			r.file("proc/17/stat", stat("java", "S", 1000+test.faults))
			r.read("gc.log", idlePause, idleTimes, idleSafe)
			r.kernel(kernelFiles{disk: test.disk})
			r.judge.step(r.time)
			if recent := r.Recent(); len(recent) != 1 || recent[0].Verdict != test.verdict || recent[0].Evidence != test.want {
				t.Errorf("got %+v, want the verdict %q with %q", recent, test.verdict, test.want)
			}
		})
	}
}
