package ship

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/ship/tail"
)

func TestMetricsShowTheSpool(t *testing.T) {
	reg := prometheus.NewRegistry()
	v := &view{usage: tail.Usage{Backlog: 50, Spooled: 42}}
	newMetrics(reg, newLink(DefaultConfig()), v, func() error { return nil })
	want := `
		# HELP ullage_backlog_bytes Bytes written by JVMs and not yet durable.
		# TYPE ullage_backlog_bytes gauge
		ullage_backlog_bytes 50
		# HELP ullage_spooled_bytes Bytes of lines in the spool, before compression.
		# TYPE ullage_spooled_bytes gauge
		ullage_spooled_bytes 42
	`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "ullage_backlog_bytes", "ullage_spooled_bytes"); err != nil {
		t.Error(err)
	}
}
