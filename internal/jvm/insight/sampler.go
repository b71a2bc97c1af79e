package insight

import "time"

const (
	maxSamples = 128              // about two minutes
	findTime   = 30 * time.Second // between two looks for the JVMs' cgroups
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

// sample is what the counters had at one time. A counter that could not be read is
// negative.
type sample struct {
	at   time.Time
	node [numCounters]time.Duration // of the node; it has none for throttled
	jvms [numCounters]time.Duration // the sum over the JVMs' cgroups
	set  int                        // number of the set of cgroups: sums of different ones are not compared
}

// sampler keeps the last samples. It is for one goroutine.
type sampler struct {
	kernel  kernelCounters
	samples [maxSamples]sample
	total   int

	cgroups []string // directories of the JVMs' cgroups
	set     int
	found   time.Time
}

func newSampler(root string) *sampler { return &sampler{kernel: kernelCounters{root: root}} }

// sample takes a sample.
func (s *sampler) sample(now time.Time) {
	if now.Sub(s.found) >= findTime || now.Before(s.found) {
		s.found = now
		s.setCgroups(s.kernel.cgroups())
	}
	one := sample{at: now, node: s.kernel.pressure("proc/pressure", ""), jvms: [numCounters]time.Duration{-1, -1, -1, -1}}
	one.node[throttled] = -1
	for i, dir := range s.cgroups {
		counters := s.kernel.pressure(dir, ".pressure")
		counters[throttled] = s.kernel.throttled(dir)
		for k, v := range counters {
			switch {
			case v < 0 || i > 0 && one.jvms[k] < 0:
				one.jvms[k] = -1
			default:
				one.jvms[k] = max(0, one.jvms[k]) + v
			}
		}
	}
	one.set = s.set
	s.samples[s.total%maxSamples] = one
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

// culprit returns what the application seems to have waited for between two times, or "".
func (s *sampler) culprit(start, end time.Time) Verdict {
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
		return ""
	}
	from, to := &s.samples[before%maxSamples], &s.samples[after%maxSamples]
	base := &s.samples[max(oldest, before-background)%maxSamples]
	half := end.Sub(start) / 2
	for k := range numCounters {
		if excess(from.node[k], to.node[k], base.node[k], from, to, base) >= half ||
			from.set == to.set && excess(from.jvms[k], to.jvms[k], base.jvms[k], from, to, base) >= half {
			return culprits[k]
		}
	}
	return ""
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
