package sinks

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/internal/sink/kafka"
	"github.com/ullage/ullage/test/lab"
)

// BenchmarkKafka measures how many lines the sink sends per second of processor time, in transactions, to a broker
// in a separate process, with and without TLS.
func BenchmarkKafka(b *testing.B) {
	server := newBroker(b)
	server.topic("bench")
	for _, c := range []struct{ name, address, options string }{
		{"plain", fmt.Sprintf("127.0.0.1:%d", server.plainPort), "compression=zstd"},
		{"plain,lz4", fmt.Sprintf("127.0.0.1:%d", server.plainPort), "compression=lz4"},
		{"tls", server.wire.address(), "tls=true&sasl=plain&ca=" + url.QueryEscape(server.ca())},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.Setenv("KAFKA_USERNAME", "ullage")
			b.Setenv("KAFKA_PASSWORD", "s3cret")
			u, err := url.Parse(fmt.Sprintf("kafka://%s/bench?%s", c.address, c.options))
			server.must(err)
			to, err := kafka.Kind().Open(sink.Target{Name: "bench", URL: u, Options: address.NewOptions(u.Query()), Pod: sink.Pod{Namespace: "shop", Name: "web-0"}})
			server.must(err)
			defer to.Close()
			to.(sink.Identified).Identify("0123456789abcdef01234567")
			batch := benchBatch(b)
			deliver := func() {
				server.must(to.Deliver(context.Background(), batch))
				for i := range batch.Lines {
					batch.Lines[i].Offset += batch.Bytes
				}
			}
			lab.Eventually(b, patience, "the broker is ready", func() bool { return to.Deliver(context.Background(), batch) == nil })
			for i := range batch.Lines {
				batch.Lines[i].Offset += batch.Bytes
			}
			b.SetBytes(batch.Bytes)
			b.ReportAllocs()
			spent := processorTime()
			b.ResetTimer()
			for range b.N {
				deliver()
			}
			b.StopTimer()
			lines := float64(b.N * len(batch.Lines))
			b.ReportMetric(lines/(processorTime()-spent).Seconds(), "lines/cpu-s")
			b.ReportMetric(lines/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

// benchBatch returns a batch in the form in which a worker passes it to the sink.
func benchBatch(b *testing.B) *sink.Batch {
	b.Helper()
	info, _ := segment.ParseName(fmt.Sprintf("%s-000001.log.zst", time.Now().UTC().Format("20060102T150405.000Z")))
	batch := &sink.Batch{Stream: stream, Segment: info}
	records := lab.NewRecords(1)
	for batch.Bytes < 256<<10 {
		text, _ := records.Next()
		batch.Lines = append(batch.Lines, sink.Line{Offset: batch.Bytes, Text: append([]byte(nil), text[:len(text)-1]...), Time: time.Now(), Class: ul.Class{Kind: ul.Header, Level: ul.Info}})
		batch.Bytes += int64(len(text))
	}
	return batch
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
