package insight

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxSamples = 128              // about two minutes
	findTime   = 30 * time.Second // how often the JVMs' cgroups and the destination's device are looked up
	findRest   = 5 * time.Second  // the shortest time between two lookups, even if a JVM appears
	background = 10               // number of samples before a stop that show the usual growth of the counters
)

// A counter is one of the kernel's counters of lost time.
type counter int

const (
	throttled counter = iota // only for the JVMs' cgroups
	memory
	disk
	cpu
	numCounters
)

// culprits are the verdicts of the counters, in the order in which the counters are checked: a JVM
// that swaps also waits for the disk, and a throttled JVM seems to wait for all of them.
var culprits = [numCounters]Verdict{throttled: Throttled, memory: Memory, disk: Disk, cpu: CPU}

// counts holds the values of counters at one time. A value that could not be read is negative.
type counts struct {
	some    [numCounters]time.Duration // time in which at least one task waited, or was throttled
	full    [numCounters]time.Duration // time in which all tasks waited; unknown for throttled
	periods int64                      // number of periods in which the CPU limit throttled
}

// unknownCounts is the result if nothing could be read.
var unknownCounts = counts{some: [numCounters]time.Duration{-1, -1, -1, -1}, full: [numCounters]time.Duration{-1, -1, -1, -1}, periods: -1}

// add adds the counters of another cgroup. A sum is unknown if one of its addends is unknown.
func (c *counts) add(other *counts) {
	for k := range numCounters {
		c.some[k], c.full[k] = sum(c.some[k], other.some[k]), sum(c.full[k], other.full[k])
	}
	c.periods = sum(c.periods, other.periods)
}

func sum[N ~int64](a, b N) N {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// sample holds the values of all counters at one time.
type sample struct {
	at       time.Time
	node     counts // of the node; unknown for throttled
	jvms     counts // the sum over the JVMs' cgroups
	work     work
	set      int // number of the set of JVMs and cgroups: sums over different sets are not compared
	disks    [maxDevices]device
	numDisks int
	dest     device // the device of the destination; zero: it is not on a block device, or its device is not known
}

// sampler keeps the last samples. Except for appeared, only one goroutine may use it.
type sampler struct {
	kernel  kernelCounters
	samples [maxSamples]sample
	total   int

	cgroups   []string // directories of the JVMs' cgroups
	processes []process
	set       int
	found     time.Time
	appeared  atomic.Bool // since the last lookup, a JVM that may be new has had a stop; any goroutine may set this

	dest   string // the directory of the destination; empty: no destination
	number string // the number of its device; empty: not known
}

func newSampler(cfg Config) *sampler {
	return &sampler{kernel: kernelCounters{root: cfg.Root}, dest: cfg.Dest}
}

// sample takes a sample.
func (s *sampler) sample(now time.Time) {
	if rest := now.Sub(s.found); rest < 0 || rest >= findTime || rest >= findRest && s.appeared.Load() {
		s.found = now
		s.appeared.Store(false)
		s.setJVMs(s.kernel.jvms())
		if s.dest != "" {
			s.number = s.kernel.deviceOf(s.dest)
		}
	}
	one := &s.samples[s.total%maxSamples]
	one.at, one.set, one.node, one.jvms = now, s.set, s.kernel.pressure("proc/pressure", ""), unknownCounts
	one.numDisks, one.dest = s.kernel.devices(&one.disks, s.number)
	one.work = s.kernel.work(s.processes)
	for i, dir := range s.cgroups {
		counters := s.kernel.pressure(dir, ".pressure")
		counters.some[throttled], counters.periods = s.kernel.throttled(dir)
		if i == 0 {
			one.jvms = counters
		} else {
			one.jvms.add(&counters)
		}
	}
	s.total++
}

// setJVMs records which JVMs are visible, and which cgroups they are in.
func (s *sampler) setJVMs(groups []string, processes []process) {
	if !slices.Equal(groups, s.cgroups) || !slices.Equal(processes, s.processes) {
		s.cgroups, s.processes = groups, processes
		s.set++
	}
}

// culprit returns what the application seems to have waited for between two times, or "" if no counter
// shows it, and the evidence: what the kernel showed of the JVMs, and the counter.
func (s *sampler) culprit(start, end time.Time) (Verdict, string) {
	oldest := max(0, s.total-maxSamples)
	before, after := -1, -1
	for n := oldest; n < s.total; n++ {
		at := s.samples[n%maxSamples].at
		if !at.After(start) {
			before = n
		}
		if after < 0 && !at.Before(end) {
			after = n
		}
	}
	if before < 0 || after < 0 {
		return "", ""
	}
	from, to := &s.samples[before%maxSamples], &s.samples[after%maxSamples]
	base := &s.samples[max(oldest, before-background)%maxSamples]
	var during []*sample
	for n := before; n <= after; n++ {
		during = append(during, &s.samples[n%maxSamples])
	}
	shown := workEvidence(during)
	add := func(text string) string { return strings.TrimPrefix(shown+"; "+text, "; ") }
	half := end.Sub(start) / 2
	for k := range numCounters {
		// If both grew, the JVMs' own counters are better evidence than the node's.
		usual := base.jvms.some[k]
		if base.set != from.set {
			usual = -1
		}
		if from.set == to.set && excess(from.jvms.some[k], to.jvms.some[k], usual, from, to, base) >= half {
			return culprits[k], add(evidence(k, "the JVM's", &from.jvms, &to.jvms, from, to))
		}
		if excess(from.node.some[k], to.node.some[k], base.node.some[k], from, to, base) >= half {
			return culprits[k], add(evidence(k, "the node's", &from.node, &to.node, from, to))
		}
	}
	return "", shown
}

// excess returns how much a counter grew between two samples, less its usual growth in an equally
// long time before that, if base is known. It is negative if a counter was not read.
func excess(was, is, base time.Duration, from, to, before *sample) time.Duration {
	if was < 0 || is < was {
		return -1
	}
	grown := is - was
	if span := from.at.Sub(before.at); base >= 0 && base <= was && span > 0 {
		grown -= time.Duration(float64(was-base) * float64(to.at.Sub(from.at)) / float64(span))
	}
	return grown
}
