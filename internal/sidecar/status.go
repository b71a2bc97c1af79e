package sidecar

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/build"
	"github.com/ullage/ullage/internal/levels"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/sink"
)

// statusOf is a Shipper's state as /status shows it. What is counted comes from
// the metrics, so that the two cannot disagree.
func statusOf(cfg Config, of build.Info, s *ship.Shipper, sinks *sink.Set, m *levels.Loop, elsewhere []string, reg prometheus.Gatherer, started time.Time) admin.Status {
	st, counts := s.Stats(), gather(reg)
	out := admin.Status{
		Version: of.Version, Started: started, UptimeSeconds: time.Since(started).Seconds(),
		Source: cfg.Ship.Tail.Source, Destination: cfg.Ship.Dest, Compress: cfg.Ship.Segment.Compress.String(),
		Ready: true, Reclaim: admin.Reclaim{Mode: st.Reclaim},
		Space: admin.Space{BacklogBytes: st.Usage.Backlog, SpooledBytes: st.Usage.Spooled,
			HeadroomBytes: st.Usage.Headroom, BudgetBytes: st.Budget,
			QueueUsedBytes: int64(st.QueueUsed), QueueCapacityBytes: int64(st.QueueCapacity)},
		LagSeconds: st.Lag.Seconds(), LastCommit: st.LastCommit,
		Lines: admin.Lines{
			Read:      admin.Volume{Lines: counts.sum("ullage_read_lines_total"), Bytes: counts.sum("ullage_read_bytes_total")},
			Persisted: admin.Volume{Lines: counts.sum("ullage_persisted_lines_total"), Bytes: counts.sum("ullage_persisted_bytes_total")},
			Dropped:   admin.Volume{Lines: counts.sum("ullage_dropped_lines_total"), Bytes: counts.sum("ullage_dropped_bytes_total")},
			Dropping:  st.Dropping,
			JVMLost:   admin.JVMLost{Async: counts.sum("ullage_jvm_dropped_lines_total"), Cut: counts.sum("ullage_jvm_cut_lines_total")},
		},
		DestinationErrors: admin.Errors{Count: st.Failures, Last: st.LastFailure, LastAt: st.LastFailed},
		Ignored:           map[string]int64{},
	}
	if err := cmp.Or(s.Ready(), sinks.Ready()); err != nil {
		out.Ready, out.Reason = false, err.Error()
	}
	for reason, n := range st.Ignored {
		out.Ignored[reason] = int64(n)
	}
	for _, stream := range st.Streams {
		out.AddStream(admin.Stream{
			Name: stream.Name, Files: stream.Files, BacklogBytes: stream.Backlog,
			ReadBytes:      counts["ullage_read_bytes_total"][stream.Name],
			PersistedLines: counts["ullage_persisted_lines_total"][stream.Name],
			PersistedBytes: counts["ullage_persisted_bytes_total"][stream.Name],
			DroppedLines:   counts["ullage_dropped_lines_total"][stream.Name],
			Segment:        stream.Segment, SegmentBytes: stream.SegmentBytes, Refused: stream.Refused,
		})
	}
	out.StreamsOmitted = st.StreamsOmitted
	for _, one := range sinks.Stats() {
		out.Sinks = append(out.Sinks, admin.Sink{Name: one.Name, URL: one.URL, LagSeconds: one.Lag.Seconds(), BacklogBytes: one.Backlog,
			Lines: one.Lines, Segments: one.Segments, Bytes: one.Bytes,
			RejectedLines: one.RejectedLines, RejectedBytes: one.RejectedBytes, SkippedSegments: one.SkippedSegments, Failure: one.Failure, Note: one.Note})
	}
	if cfg.Levels.Attach.Mode != attach.Off {
		out.Levels = levelsOf(m.Status())
		out.Levels.OtherLogs = elsewhere
	}
	return out
}

// levelsOf is a Loop's state as /status shows it.
func levelsOf(st levels.Status) *admin.Levels {
	out := &admin.Levels{Errors: st.Errors, Reconciled: st.Reconciled}
	if st.Cause != "" {
		out.Raise = &admin.Raise{Cause: string(st.Cause), Why: st.Why, Selection: st.Selection, ID: st.ID, Since: st.Since, Until: st.Until}
	}
	for _, j := range st.JVMs {
		out.JVMs = append(out.JVMs, admin.JVM{PID: j.PID, Applied: j.Applied, Outputs: j.Outputs, Error: j.Error, Kind: string(j.Kind)})
	}
	for _, p := range st.Problems {
		out.Annotations = append(out.Annotations, admin.Annotation{Key: p.Key, Value: p.Value, Problem: p.Text})
	}
	if st.Trigger != "" {
		out.Trigger = &admin.Trigger{Conditions: st.Trigger, Armed: st.Armed, QuietUntil: st.Quiet}
	}
	return out
}

// counters are the values of counters by metric name and stream.
type counters map[string]map[string]int64

func (c counters) sum(metric string) (total int64) {
	for _, n := range c[metric] {
		total += n
	}
	return total
}

// gather adds up the counters that have a stream label.
func gather(reg prometheus.Gatherer) counters {
	counts := counters{}
	families, _ := reg.Gather() // what could not be gathered is not shown
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() != "stream" || m.GetCounter() == nil {
					continue
				}
				if counts[family.GetName()] == nil {
					counts[family.GetName()] = map[string]int64{}
				}
				counts[family.GetName()][label.GetValue()] += int64(m.GetCounter().GetValue())
			}
		}
	}
	return counts
}
