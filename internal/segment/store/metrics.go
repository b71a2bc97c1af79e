package store

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
)

type metrics struct {
	segments prometheus.Gauge
	bytes    prometheus.Gauge
	disk     prometheus.Gauge
	inodes   prometheus.Gauge
	free     prometheus.Gauge
	oldest   prometheus.Gauge
	sealed   prometheus.Counter
	deleted  *prometheus.CounterVec
	cut      prometheus.Counter
	written  prometheus.Counter
}

// The values of the label reason.
const (
	reasonBytes  = "bytes"
	reasonAge    = "age"
	reasonInodes = "inodes"
	reasonFull   = "full"
)

func newMetrics() *metrics {
	m := &metrics{
		segments: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ullage_segments",
			Help: "Segments in the destination, of all streams."}),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ullage_segments_bytes",
			Help: "Bytes of all segments in the destination, compressed as they are on disk."}),
		free: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ullage_destination_free_bytes",
			Help: "Free bytes of the destination's file system when it last answered. Near 0, retention deletes the oldest segments."}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ullage_oldest_segment_timestamp_seconds",
			Help: "Unix time at which the first line was written to the oldest segment; 0 while there is none."}),
		disk: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ullage_segments_disk_bytes",
			Help: "Bytes of the destination's file system that all segments, hint files and directories of streams use, in whole blocks; --retain-bytes bounds them."}),
		inodes: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ullage_segments_inodes",
			Help: "Inodes of the destination's file system that all segments, hint files and directories of streams use."}),
		sealed: prometheus.NewCounter(prometheus.CounterOpts{Name: "ullage_segments_sealed_total",
			Help: "Segments that were sealed, by size, by age or because their stream ended."}),
		deleted: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ullage_segments_deleted_total",
			Help: "Segments that retention deleted, by reason: bytes, age or inodes over their limits, or a volume that was almost full."}, []string{"reason"}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{Name: "ullage_recovered_cut_bytes_total",
			Help: "Compressed bytes that recovery cut from the ends of torn or damaged segments."}),
		written: prometheus.NewCounter(prometheus.CounterOpts{Name: "ullage_segments_written_bytes_total",
			Help: "Compressed bytes written to segments."}),
	}
	for _, reason := range []string{reasonBytes, reasonAge, reasonInodes, reasonFull} {
		m.deleted.WithLabelValues(reason)
	}
	return m
}

// show adds the figures of the destination to a status.
func (m *metrics) show(st *admin.Status) {
	st.Segments, st.DeletedSegments = admin.SamplesOf(m.segments).Sum(), admin.SamplesOf(m.deleted).Sum()
	st.FreeBytes, st.CutBytes = admin.SamplesOf(m.free).Sum(), admin.SamplesOf(m.cut).Sum()
	if oldest := admin.SamplesOf(m.oldest).Sum(); oldest > 0 {
		st.Reaches = time.Unix(oldest, 0).UTC()
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.segments, m.bytes, m.disk, m.inodes, m.free, m.oldest, m.sealed, m.deleted, m.cut, m.written}
}

func (m *metrics) register(reg prometheus.Registerer) error {
	if reg == nil {
		return nil
	}
	for i, c := range m.all() {
		if err := reg.Register(c); err != nil {
			for _, done := range m.all()[:i] {
				reg.Unregister(done)
			}
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

func (m *metrics) unregister(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	for _, c := range m.all() {
		reg.Unregister(c)
	}
}
