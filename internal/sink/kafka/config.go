package kafka

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Bounds of one transaction.
const (
	// attempt is how long a transaction may take. One that takes longer is halved.
	attempt = 30 * time.Second
	// openFor is how long a broker keeps a transaction open, and so how long readers wait
	// for a process that has died. It is longer than attempt.
	openFor = 45 * time.Second
)

const (
	defaultPort = "9092"
	maxBrokers  = 16

	batchBytes = 1_000_012 // of records in a request: the default limit of a topic
	readBytes  = 4 << 20   // of an answer
	writeBytes = 4 << 20   // of a request
)

// linger is the time between two rounds of transactions while lines arrive slowly.
const linger = time.Second

// Kind makes sinks of Kafka topics.
func Kind() sink.Kind { return sink.Kind{Open: open, Linger: linger} }

// mostTopic is Kafka's bound on the name of a topic.
const mostTopic = 249

// isTopic reports whether Kafka accepts the name of a topic. (A regular expression with this
// bound would cost each command of the program half a millisecond and 220 KiB at its start.)
func isTopic(name string) bool {
	foreign := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	return len(name) <= mostTopic && strings.Trim(name, ".") != "" && !strings.ContainsFunc(name, foreign)
}

// codecs are the compressions of a batch. The fastest level of zstd has the smallest tables.
var codecs = map[string]kgo.CompressionCodec{"zstd": kgo.ZstdCompression().WithLevel(int(zstd.SpeedFastest)), "lz4": kgo.Lz4Compression(), "none": kgo.NoCompression()}

func open(t sink.Target) (sink.Sink, error) {
	s := &topic{target: t.Name, name: strings.Trim(t.URL.Path, "/"), limit: mostBytes, most: mostBytes, ceiling: mostRecord}
	s.records.prefix = t.Pod.Namespace + "/" + t.Pod.Name + "/"
	codec, known := codecs[t.Options.Text("compression", "zstd", "`zstd`, `lz4` or `none`")]
	stamp := t.Options.Text("timestamp", "line", "`send`: the time at which a record is sent")
	encrypted := t.Options.Bool("tls", false, "connect with TLS, which `ca`, `cert` and `key` need")
	trust, untrusted := transport.TrustOf(&t.Options)
	mechanism := t.Options.Text("sasl", "", "`scram-sha-512`, `scram-sha-256`, or `plain`, which needs `tls=true`")
	from := t.Options.Text("credentials", "env",
		"where user and password are: `env` (`KAFKA_USERNAME`, `KAFKA_PASSWORD`), or `dir:DIR` with the files `username` and `password`, "+
			"as in a mounted Secret of type `kubernetes.io/basic-auth`; read for each connection")
	if err := t.Options.Done(); err != nil {
		return nil, err
	}
	brokers, err := brokersOf(t.URL.Host)
	switch {
	case err != nil:
		return nil, err
	case !isTopic(s.name):
		return nil, fmt.Errorf("%q is not the name of a topic: use kafka://HOST/TOPIC", s.name)
	case !known:
		return nil, errors.New("option compression: use zstd, lz4 or none")
	case stamp != "line" && stamp != "send":
		return nil, errors.New("option timestamp: use line or send")
	case untrusted != nil:
		return nil, untrusted
	case !encrypted && trust != transport.Trust{}:
		return nil, errors.New("options ca, cert and key need tls=true")
	}
	s.records.sendTime = stamp == "send"
	dial := transport.Dial
	if encrypted {
		dial = trust.DialTLS()
	}
	s.options = clientOptions(brokers, s.name, codec, dial)
	login, err := loginOf(mechanism, from, encrypted)
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

// brokersOf returns the addresses in the host part of a URL.
func brokersOf(hosts string) ([]string, error) {
	brokers := strings.Split(hosts, ",")
	if len(brokers) > maxBrokers {
		return nil, fmt.Errorf("%d brokers, at most %d are allowed: they name the others", len(brokers), maxBrokers)
	}
	for i, one := range brokers {
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port = strings.Trim(one, "[]"), defaultPort
		}
		if host == "" || port == "" {
			return nil, fmt.Errorf("%q is not a broker: use kafka://HOST:PORT,HOST:PORT/TOPIC", one)
		}
		brokers[i] = net.JoinHostPort(host, port)
	}
	return brokers, nil
}

// clientOptions returns the options of every client: bounds, and no requests but the sink's own.
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
