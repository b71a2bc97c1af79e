package insight

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

// Verdict names what the JVM seems to have waited for in a suspected stall. The table of
// docs/stalls.md is generated from the comments of the verdicts.
type Verdict string

// The verdicts.
const (
	// `throttled_usec` of the JVM's cgroup (`cpu.stat`): raise or remove the CPU limit.
	Throttled Verdict = "throttled"

	// Memory pressure (PSI): the JVM was swapped out or reclaimed memory itself. Look at the node's memory.
	Memory Verdict = "memory"

	// I/O pressure (PSI): find what the JVM writes to a disk in pauses, such as [a log outside the
	// source, `hsperfdata`, a heap dump](pods.md#what-else-waits-for-a-disk).
	Disk Verdict = "disk"

	// CPU pressure (PSI): the node has too few CPUs for its pods.
	CPU Verdict = "cpu"

	// No counter: a thread took long to reach the safepoint, because of a long loop without polls or a page fault.
	Reaching Verdict = "reaching"

	// No counter: the operation itself was long, such as a thread dump, a heap inspection or a redefinition of classes.
	Operation Verdict = "operation"

	// No counter grew enough or could be read, or the host used the CPU for something else (steal).
	Unknown Verdict = "unknown"
)

var verdicts = []Verdict{Throttled, Memory, Disk, CPU, Reaching, Operation, Unknown}

const (
	sampleTime = time.Second
	quietTime  = 5 * time.Second  // between two samples while the streams are quiet
	maxPending = 64               // suspected stops that may wait for a sample
	maxRecent  = 50               // stops that are kept for /recent
	logEvery   = 10 * time.Second // at most one message about stalls in this time
)

// Stop is one of the latest stops of the application, as /recent shows it.
type Stop struct {
	Stream    string        `json:"stream"`
	End       time.Time     `json:"end"`
	Duration  time.Duration `json:"duration_ns"`
	Reaching  time.Duration `json:"reaching_ns,omitempty"`
	Operation string        `json:"operation,omitempty"` // the VM operation; "none" if it is not in the log
	Collector string        `json:"gc,omitempty"`
	Action    string        `json:"action,omitempty"` // of the longest pause in the stop; empty if there was no pause
	Cause     string        `json:"cause,omitempty"`
	Verdict   Verdict       `json:"verdict,omitempty"`  // of a suspected stall; empty until it is decided
	Evidence  string        `json:"evidence,omitempty"` // what the kernel showed during the stall; empty if it showed nothing
}

// judge holds suspected stops until the samples show what happened during them. Its methods are
// safe for concurrent use.
type judge struct {
	floor   pause.Floor
	metrics *metrics
	log     *slog.Logger
	mark    func(mark.Mark)
	sampler *sampler // only Run uses it, except for appeared

	mu      sync.Mutex
	pending []suspect
	recent  [maxRecent]Stop
	total   int // number of stops that were put into recent

	logged time.Time // only Run uses it
}

// suspect is a suspected stop that waits for its verdict.
type suspect struct {
	suspicion  pause.Suspicion
	start, end time.Time
	stream     string
	number     int // the number of the stop in recent
}

func newJudge(cfg Config, m *metrics, note func(mark.Mark), log *slog.Logger) *judge {
	return &judge{floor: cfg.Floor, metrics: m, mark: note, log: log, sampler: newSampler(cfg)}
}

// stopped handles a stop. end is the time of its end.
func (j *judge) stopped(stream string, s *pause.Stop, end, now time.Time) {
	suspicion := s.Suspect(j.floor)
	stop := Stop{Stream: stream, End: end, Duration: s.Duration, Reaching: s.Reaching, Operation: s.Operation}
	longest := time.Duration(-1)
	for i := range s.Pauses {
		if p := &s.Pauses[i]; p.Duration > longest {
			longest = p.Duration
			stop.Collector, stop.Action, stop.Cause = label(p.Collector), p.Action, p.Cause
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.recent[j.total%maxRecent] = stop
	j.total++
	if suspicion == pause.NoSuspicion {
		return
	}
	one := suspect{suspicion: suspicion, start: end.Add(-s.Duration), end: end, stream: stream, number: j.total - 1}
	if len(j.pending) == maxPending || now.Sub(end) > maxBehind {
		j.decide(one, "", "")
		return
	}
	j.pending = append(j.pending, one)
}

// decide gives a suspected stop its verdict and counts the stop. culprit is the verdict to which the
// samples point, or "" if they point to none, and shown is their evidence. The caller holds the lock.
func (j *judge) decide(s suspect, culprit Verdict, shown string) (Verdict, bool) {
	verdict := culprit
	if verdict == "" {
		switch s.suspicion {
		case pause.Uneven:
			return "", false
		case pause.Reaching:
			verdict = Reaching
		case pause.Operation:
			verdict = Operation
		default:
			verdict = Unknown
		}
	}
	j.metrics.stalls.WithLabelValues(string(verdict)).Inc()
	if s.number >= j.total-maxRecent {
		stop := &j.recent[s.number%maxRecent]
		stop.Verdict, stop.Evidence = verdict, shown
	}
	return verdict, true
}

// recently returns the latest stops, newest first.
func (j *judge) recently() []Stop {
	j.mu.Lock()
	defer j.mu.Unlock()
	stops := make([]Stop, 0, min(j.total, maxRecent))
	for n := j.total - 1; n >= max(0, j.total-maxRecent); n-- {
		stops = append(stops, j.recent[n%maxRecent])
	}
	return stops
}

// Run samples the kernel's counters and decides about suspected stalls until ctx ends. It samples
// less often while no stream has lines. The first stop after such a quiet time is therefore judged
// over a longer interval; the usual growth of the counters is subtracted.
func (in *Insight) Run(ctx context.Context) {
	interval := sampleTime
	next := kernel.NewTicker(interval)
	defer next.Stop()
	for {
		in.judge.step(in.now())
		was := interval
		if interval = sampleTime; in.quiet.Load() {
			interval = quietTime
		}
		if interval != was {
			next.Reset(interval)
		}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
	}
}

// step takes a sample and decides about the stops that ended before the sample.
func (j *judge) step(now time.Time) {
	j.sampler.sample(now)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = slices.DeleteFunc(j.pending, func(s suspect) bool {
		if s.end.After(now) {
			return false
		}
		culprit, shown := j.sampler.culprit(s.start, s.end)
		if verdict, ok := j.decide(s, culprit, shown); ok && now.Sub(j.logged) >= logEvery {
			j.logged = now
			// messages.md#the-jvms: `verdict` names what the JVM waited for, and `evidence` has its numbers: see [Was it the JVM or
			// the machine?](stalls.md). Logged at most once in 10 s;
			// `ullage_jvm_stalls_suspected_total` counts all.
			j.log.Warn("a stop of the JVM seems to be a stall", "stream", s.stream, "duration", s.end.Sub(s.start), "end", s.end,
				"suspicion", s.suspicion.String(), "verdict", string(verdict), "evidence", shown, "hint", build.Docs+"stalls.md explains the verdicts, and what only looks like a stall")
			j.mark(mark.New(mark.JVMStalled, "stream", s.stream, "ended", s.end.UTC().Format(ul.TimeLayout),
				"seconds", fmt.Sprintf("%.3f", s.end.Sub(s.start).Seconds()), "verdict", string(verdict), "why", shown))
		}
		return true
	})
}
