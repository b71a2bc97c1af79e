// Package insight turns the lines that the sidecar reads into metrics of the JVM: pauses,
// safepoints, concurrent phases, memory, and stalls that the JVM did not make itself.
//
// The reader of the lines calls [Insight.Line] for each line and [Insight.CaughtUp] when
// it has read all of them; both are for one goroutine and block for nothing. [Insight.Run]
// samples the kernel's counters meanwhile. Package pause reads and joins the lines.
//
// # Bounds
//
// The log is untrusted. Labels come from the fixed lists of package pause, and beyond
// maxSeries combinations further ones are counted as "other". At most maxStreams streams
// are followed at a time; a further one replaces the stream that was silent longest.
//
// # Stalls
//
// A stop of the application that pause.Stop.Suspect suspects is held until the sampler
// has seen its end. Then its [Verdict] is the culprit that the kernel's counters name.
//
// A culprit is named if, while the application was stopped, its counter grew by at least
// half of that time more than it grows otherwise. Pressure is that of the node, from
// /proc/pressure, unless the JVMs' processes are visible (a shared process namespace):
// then it is also that of their cgroups, and only then is throttling seen at all. The
// samples also hold the counters of the node's disks, so that the evidence of the verdict
// disk can name the busiest one and the destination's own. They do not decide: a disk may be
// busy for others. A pause that is suspected only because its work was not spread
// over its workers counts only if a culprit is named.
package insight
