package kafka

import (
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Bounds of one transaction.
const (
	// attempt is how long a transaction may take. A transaction that takes longer is halved.
	attempt = 30 * time.Second
	// openFor is how long a broker keeps a transaction open, and therefore how long readers wait
	// for a process that has died. It is longer than attempt.
	openFor = 45 * time.Second
)

const (
	batchBytes = 1_000_012 // of records in a request: the default limit of a topic
	readBytes  = 4 << 20   // of an answer
	writeBytes = 4 << 20   // of a request
)

// linger is the time between two rounds of transactions while lines arrive slowly.
const linger = time.Second

// Kind creates sinks for Kafka topics.
func Kind() sink.Kind { return sink.Kind{Open: open, Linger: linger} }

// codecs are the compressions of a batch. The fastest level of zstd has the smallest tables.
var codecs = map[string]kgo.CompressionCodec{"zstd": kgo.ZstdCompression().WithLevel(int(zstd.SpeedFastest)), "lz4": kgo.Lz4Compression(), "none": kgo.NoCompression()}

func open(t sink.Target) (sink.Sink, error) {
	given, err := address.ParseKafka(t.URL, &t.Options)
	if err != nil {
		return nil, err
	}
	trust, err := transport.TrustOf(given.Files)
	if err != nil {
		return nil, err
	}
	s := &topic{target: t.Name, name: given.Topic, limit: mostBytes, most: mostBytes, ceiling: mostRecord}
	s.records.prefix = t.Pod.Namespace + "/" + t.Pod.Name + "/"
	s.records.sendTime = given.SendTime
	dial := transport.Dial
	if given.TLS {
		dial = trust.DialTLS()
	}
	s.options = clientOptions(given.Brokers, s.name, codecs[given.Compression], dial)
	login, err := loginOf(given.Mechanism, given.Credentials)
	if err != nil {
		return nil, err
	}
	if login != nil {
		s.options = append(s.options, kgo.SASL(login))
	}
	if err := kgo.ValidateOpts(s.options...); err != nil {
		return nil, fmt.Errorf("options of the client: %w", err)
	}
	return s, nil
}

// clientOptions returns the options of every client. They set bounds and prevent requests other
// than the sink's own.
func clientOptions(brokers []string, topic string, codec kgo.CompressionCodec, dial transport.DialFunc) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ClientID("ullage"), kgo.Dialer(dial), kgo.DisableClientMetrics(),
		kgo.DefaultProduceTopicAlways(), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MaxVersions(kversion.V3_9_0()),
		kgo.ManualFlushing(), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(batchBytes),
		kgo.BrokerMaxReadBytes(readBytes), kgo.FetchMaxBytes(readBytes), kgo.BrokerMaxWriteBytes(writeBytes),
		kgo.RequestRetries(4), kgo.RetryTimeout(10 * time.Second), kgo.RequestTimeoutOverhead(attempt),
		kgo.RetryBackoffFn(func(n int) time.Duration { return min(100*time.Millisecond<<min(n, 4), time.Second) }),
		kgo.MetadataMinAge(250 * time.Millisecond), kgo.ConcurrentTransactionsBackoff(5 * time.Millisecond),
	}
}
