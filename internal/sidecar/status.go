package sidecar

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/ship/ring"
	"github.com/ullage/ullage/internal/ship/tail"
	"github.com/ullage/ullage/internal/sink"
)

// statusOf is a Shipper's state as /status shows it. What is counted comes from
// the metrics, so that the two cannot disagree.
func statusOf(cfg Config, of build.Info, s *ship.Shipper, sinks *sink.Set, m *levels.Loop, elsewhere []string, reg prometheus.Gatherer, started time.Time) admin.Status {
	// Marks are no lines of a JVM: a sidecar that has read nothing else has read nothing.
	st, counts := s.Stats(), gather(reg).without("stream", mark.Stream)
	out := admin.Status{
		Version: of.Version, Started: started, UptimeSeconds: time.Since(started).Seconds(),
		Where: admin.Where{Pod: cfg.Sinks.Pod.Name, Source: absolute(cfg.Ship.Tail.Source), Destination: absolute(cfg.Ship.Dest)}, Compress: cfg.Ship.Segment.Compress.String(),
		Ready: true, Reclaim: admin.Reclaim{Mode: st.Reclaim},
		Space: admin.Space{BacklogBytes: st.Usage.Backlog, SpooledBytes: st.Usage.Spooled,
			HeadroomBytes: st.Usage.Headroom, BudgetBytes: st.Budget, BudgetUsedBytes: st.BudgetUsed,
			QueueUsedBytes: int64(st.QueueUsed), QueueCapacityBytes: int64(st.QueueCapacity)},
		Progress: admin.Progress{LagSeconds: st.Lag.Seconds(), LastCommit: st.LastCommit,
			Unpersisted: unpersistedOf(st.Unpersisted), SeenAt: st.SeenAt},
		Lines: admin.Lines{
			Read:      admin.Volume{Lines: counts.sum("ullage_read_lines_total"), Bytes: counts.sum("ullage_read_bytes_total")},
			Persisted: admin.Volume{Lines: counts.sum("ullage_persisted_lines_total"), Bytes: counts.sum("ullage_persisted_bytes_total")},
			Dropped:   admin.Volume{Lines: counts.sum("ullage_dropped_lines_total"), Bytes: counts.sum("ullage_dropped_bytes_total")},
			Dropping:  st.Dropping,
			Withheld:  admin.Volume{Lines: counts.sum("ullage_hindsight_withheld_lines_total"), Bytes: counts.sum("ullage_hindsight_withheld_bytes_total")},
			Saved:     counts.sum("ullage_hindsight_saved_lines_total"),
			Events:    counts.sum("ullage_events_total"), EventsDropped: counts.sum("ullage_events_dropped_total"),
			ByLevel:    counts.by("ullage_persisted_lines_total", "level"),
			DroppedBy:  droppedBy(counts),
			JVMLost:    admin.JVMLost{Async: counts.sum("ullage_jvm_dropped_lines_total"), Cut: counts.sum("ullage_jvm_cut_lines_total")},
			JVMCrashes: counts.sum("ullage_jvm_crashes_total"),
		},
		Held: admin.Held{FreeBytes: counts.sum("ullage_destination_free_bytes"), Segments: counts.sum("ullage_segments"),
			CutBytes: counts.sum("ullage_recovered_cut_bytes_total"), DeletedSegments: counts.sum("ullage_segments_deleted_total")},
		DestinationErrors: admin.Errors{Count: st.Failures, Last: st.LastFailure, LastAt: st.LastFailed},
		Ignored:           map[string]int64{},
		Streams:           []admin.Stream{}, // a reader of JSON expects a list
	}
	if u := st.Stranger; u != nil {
		out.JVMUser = jvmUser(u)
		if st.Reclaim != string(tail.ReclaimPunch) {
			out.Reclaim.Why = out.JVMUser.Advice
		}
	}
	if held := st.Held; held.Bytes > 0 || !held.Until.IsZero() {
		out.Hindsight = &admin.Hindsight{Bytes: held.Bytes, Since: held.Oldest, Until: held.Until}
	}
	if err := cmp.Or(s.Ready(), sinks.Ready()); err != nil {
		out.Ready, out.Reason = false, err.Error()
	}
	for reason, n := range st.Ignored {
		out.Ignored[reason] = int64(n)
	}
	if oldest := counts.sum("ullage_oldest_segment_timestamp_seconds"); oldest > 0 {
		out.Held.Reaches = time.Unix(oldest, 0).UTC()
	}
	read, bytes := counts.by("ullage_read_bytes_total", "stream"), counts.by("ullage_persisted_bytes_total", "stream")
	lines, dropped := counts.by("ullage_persisted_lines_total", "stream"), counts.by("ullage_dropped_lines_total", "stream")
	for _, stream := range st.Streams {
		if stream.Name == mark.Stream && stream.Refused == "" {
			continue
		}
		out.AddStream(admin.Stream{
			Name: stream.Name, Kind: string(naming.KindOf(stream.Name)), Format: stream.Format, Files: stream.Files, BacklogBytes: stream.Backlog,
			ReadBytes:      read[stream.Name],
			PersistedLines: lines[stream.Name],
			PersistedBytes: bytes[stream.Name],
			DroppedLines:   dropped[stream.Name],
			Unpersisted:    unpersistedOf(stream.Unpersisted),
			Segment:        stream.Segment, SegmentBytes: stream.SegmentBytes, Refused: stream.Refused,
		})
	}
	out.StreamsOmitted = st.StreamsOmitted
	for _, one := range sinks.Stats() {
		out.Sinks = append(out.Sinks, admin.Sink{Name: one.Name, URL: one.URL, LagSeconds: one.Lag.Seconds(), BacklogBytes: one.Backlog,
			Lines: one.Lines, Segments: one.Segments, Bytes: one.Bytes,
			RejectedLines: one.RejectedLines, RejectedBytes: one.RejectedBytes, SkippedSegments: one.SkippedSegments, Failure: one.Failure, Note: one.Note})
	}
	if levels := m.Status(); cfg.Levels.Attach.Mode != attach.Off || levels.Trigger != "" {
		out.Levels = levelsOf(levels, counts)
		out.Levels.OtherLogs = elsewhere
		if t := out.Levels.Trigger; t != nil && levels.Off && out.JVMUser != nil {
			t.Never += "; " + out.JVMUser.Advice
		}
	}
	return out
}

// absolute is a path as another process, with another working directory, finds it.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// jvmUser is who the JVM is, and what to do about it.
func jvmUser(u *kernel.User) *admin.JVMUser {
	out := &admin.JVMUser{UID: u.UID, Advice: u.Advice()}
	if !u.GroupHidden {
		out.GID = &u.GID
	}
	return out
}

func unpersistedOf(u tail.Unpersisted) admin.Unpersisted {
	return admin.Unpersisted{Bytes: u.Bytes, DroppedLines: u.Dropped, Since: u.Since}
}

// ringsOf are the rings of events as /status shows them.
func ringsOf(all []ring.Status) []admin.Ring {
	var out []admin.Ring
	for _, one := range all {
		out = append(out, admin.Ring{Name: one.Name, PID: one.PID, CapacityBytes: one.Capacity, UsedBytes: one.Used,
			Abandoned: one.Abandoned, Ended: one.Gone, Problem: one.Problem})
	}
	return out
}

// droppedBy returns the dropped lines by reason and level.
func droppedBy(counts samples) map[string]map[string]int64 {
	const metric = "ullage_dropped_lines_total"
	by := map[string]map[string]int64{}
	for reason := range counts.by(metric, "reason") {
		by[reason] = counts.with(metric, "reason", reason).by(metric, "level")
	}
	return by
}

// levelsOf is a Loop's state as /status shows it.
func levelsOf(st levels.Status, counts samples) *admin.Levels {
	out := &admin.Levels{Off: st.Off, Errors: st.Errors, Reconciled: st.Reconciled}
	if r := st.Raise; st.Cause != "" {
		out.Raise = &admin.Raise{Cause: string(st.Cause), Why: r.Why, Selection: r.Selection.String(), Stream: r.Stream, ID: r.ID, Since: r.Since, Until: r.Until}
	}
	if st.App.Level != "" {
		out.App = &admin.AppRaise{Level: st.App.Level, Until: st.App.Until}
	}
	for _, j := range st.JVMs {
		out.JVMs = append(out.JVMs, admin.JVM{PID: j.PID, Applied: j.Applied.String(), Outputs: j.Outputs, Error: j.Error, Kind: string(j.Kind)})
	}
	for _, p := range st.Problems {
		out.Annotations = append(out.Annotations, admin.Annotation{Key: p.Key, Value: p.Value, Problem: p.Text})
	}
	if st.Trigger != "" {
		out.Trigger = &admin.Trigger{Conditions: st.Trigger, Armed: st.Armed, Disarmed: st.Disarmed, Never: st.Never,
			Missed: counts.sum("ullage_trigger_missed_total"), QuietUntil: st.Quiet}
	}
	return out
}
