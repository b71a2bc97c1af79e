package insight

import "time"

const (
	maxSamples = 128              // about two minutes
	findTime   = 30 * time.Second // between two looks for the JVMs' cgroups, and for the destination's device
	background = 10               // samples before a stop that show how the counters grow otherwise
)

// A counter is one of the kernel's counters of lost time.
type counter int

const (
	throttled counter = iota // of JVMs' cgroups
	memory
	disk
	cpu
	numCounters
)

// culprits are the verdicts about counters, in the order in which they are asked: a JVM
// that swaps waits for the disk as well, and one that is throttled for all of them.
var culprits = [numCounters]Verdict{throttled: Throttled, memory: Memory, disk: Disk, cpu: CPU}

// counts are counters at one time. One that could not be read is negative.
type counts struct {
	some    [numCounters]time.Duration // in which at least one task waited, or was throttled
	full    [numCounters]time.Duration // in which all tasks waited; throttled has none
	periods int64                      // in which the CPU limit throttled
}

// unknownCounts is where nothing could be read.
var unknownCounts = counts{some: [numCounters]time.Duration{-1, -1, -1, -1}, full: [numCounters]time.Duration{-1, -1, -1, -1}, periods: -1}

// add adds the counters of a further cgroup. A sum is unknown if one of its parts is.
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

// sample is what the counters had at one time.
type sample struct {
	at       time.Time
	node     counts // of the node; it has none for throttled
	jvms     counts // the sum over the JVMs' cgroups
	set      int    // number of the set of cgroups: sums of different ones are not compared
	disks    [maxDevices]device
	numDisks int
	dest     device // that has the destination; zero: it is on no block device, or that is not known
}

// sampler keeps the last samples. It is for one goroutine.
type sampler struct {
	kernel  kernelCounters
	samples [maxSamples]sample
	total   int

	cgroups []string // directories of the JVMs' cgroups
	set     int
	found   time.Time

	dest   string // the directory of the destination; empty: there is none
	number string // of its device; empty: not known
}

func newSampler(cfg Config) *sampler {
	return &sampler{kernel: kernelCounters{root: cfg.Root}, dest: cfg.Dest}
}

// sample takes a sample.
func (s *sampler) sample(now time.Time) {
	if now.Sub(s.found) >= findTime || now.Before(s.found) {
		s.found = now
		s.setCgroups(s.kernel.cgroups())
		if s.dest != "" {
			s.number = s.kernel.deviceOf(s.dest)
		}
	}
	one := &s.samples[s.total%maxSamples]
	one.at, one.set, one.node, one.jvms = now, s.set, s.kernel.pressure("proc/pressure", ""), unknownCounts
	one.numDisks, one.dest = s.kernel.devices(&one.disks, s.number)
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

// setCgroups notes which cgroups the JVMs are in.
func (s *sampler) setCgroups(dirs []string) {
	same := len(dirs) == len(s.cgroups)
	for i := range dirs {
		same = same && dirs[i] == s.cgroups[i]
	}
	if !same {
		s.cgroups = dirs
		s.set++
	}
}

// culprit returns what the application seems to have waited for between two times, or "",
// and what shows that.
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
	half := end.Sub(start) / 2
	for k := range numCounters {
		// The JVMs' own counters say more than those of the node, if both grew.
		if from.set == to.set && excess(from.jvms.some[k], to.jvms.some[k], base.jvms.some[k], from, to, base) >= half {
			return culprits[k], evidence(k, "the JVM's", &from.jvms, &to.jvms, from, to)
		}
		if excess(from.node.some[k], to.node.some[k], base.node.some[k], from, to, base) >= half {
			return culprits[k], evidence(k, "the node's", &from.node, &to.node, from, to)
		}
	}
	return "", ""
}

// excess returns by how much a counter grew between two samples, less its growth in
// an equally long time before. It is negative where a counter was not read.
func excess(was, is, base time.Duration, from, to, before *sample) time.Duration {
	if was < 0 || is < was {
		return -1
	}
	grown := is - was
	if span := from.at.Sub(before.at); base >= 0 && base <= was && span > 0 && from.set == before.set {
		grown -= time.Duration(float64(was-base) * float64(to.at.Sub(from.at)) / float64(span))
	}
	return grown
}
