package sinks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ullage/ullage/test/lab"
)

// broker is a Kafka server in one process. Sidecars connect through a wire, with TLS and a login. The test itself
// uses a listener without TLS or login.
type broker struct {
	identity
	*lab.Engine
	port       int
	jars       string
	plainPort  int
	wire       *wire
	properties []string // in addition to the standard ones
	clock      string   // the error of its clock, for instance "-1h"; empty: none
}

func newBroker(t testing.TB, properties ...string) *broker {
	t.Helper()
	b := &broker{identity: identity{t, t.TempDir()}, port: freePort(t), jars: fetched(t, "kafka"), plainPort: freePort(t), properties: properties}
	b.certificate(time.Now().Add(time.Hour))
	b.wire = newWire(t, b.address())
	b.configure()
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	_, err := lab.Command(time.Minute, "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", b.jars+"/*", "kafka.tools.StorageTool", "format",
		"--cluster-id="+base64.RawURLEncoding.EncodeToString(id), "-c", filepath.Join(b.dir, "server.properties"),
		"--add-scram", "SCRAM-SHA-512=[name=ullage,password=s3cret]", "--add-scram", "SCRAM-SHA-256=[name=ullage,password=s3cret]")
	b.must(err)
	b.start()
	t.Cleanup(func() { b.Kill() })
	return b
}

// configure writes the broker's properties.
func (b *broker) configure() {
	b.Helper()
	controller := freePort(b)
	one := func(prefix string) string {
		return strings.ReplaceAll("P.num.partitions=1\nP.replication.factor=1\nP.min.isr=1", "P", prefix)
	}
	text := strings.Join(append([]string{
		"process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER",
		fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d,SASL_SSL://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", b.plainPort, b.port, controller),
		fmt.Sprintf("advertised.listeners=PLAINTEXT://127.0.0.1:%d,SASL_SSL://%s", b.plainPort, b.wire.address()),
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT", "inter.broker.listener.name=PLAINTEXT",
		fmt.Sprintf("controller.quorum.voters=1@127.0.0.1:%d", controller), "log.dirs=" + b.data(),
		"offsets.topic.num.partitions=1\noffsets.topic.replication.factor=1", one("transaction.state.log"), one("share.coordinator.state.topic"),
		"num.network.threads=2", "num.io.threads=2", "background.threads=2", "num.partitions=2",
		"group.initial.rebalance.delay.ms=0", "broker.heartbeat.interval.ms=250", "broker.session.timeout.ms=1000",
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		`listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_ullage="s3cret";`,
		"listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"ssl.keystore.type=PEM", "ssl.keystore.location=" + filepath.Join(b.dir, "server.pem"),
		"ssl.truststore.type=PEM", "ssl.truststore.location=" + b.ca(),
	}, b.properties...), "\n")
	b.must(os.WriteFile(filepath.Join(b.dir, "server.properties"), []byte(text+"\n"), 0o600))
}

func (b *broker) data() string { return filepath.Join(b.dir, "data") }

// start starts the broker and waits until it answers.
func (b *broker) start() {
	b.Helper()
	key, err := os.ReadFile(filepath.Join(b.dir, "key.pem"))
	b.must(err)
	cert, err := os.ReadFile(b.ca())
	b.must(err)
	b.must(os.WriteFile(filepath.Join(b.dir, "server.pem"), bytes.Join([][]byte{key, cert}, nil), 0o600))
	args := []string{"java", "-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", b.jars + "/*", "kafka.Kafka", filepath.Join(b.dir, "server.properties")}
	var env []string
	if b.clock != "" {
		// The program faketime is not used: it would be the broker's parent, and be killed in its place. The
		// library's fix for waits is off, because that fix makes a JVM ten times slower.
		env = []string{"LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1", "FAKETIME=" + b.clock, "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_FORCE_MONOTONIC_FIX=0"}
	}
	client := b.client()
	defer client.Close()
	b.Engine = &lab.Engine{Command: args, Env: env, Answers: func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return client.Ping(ctx) == nil
	}}
	b.must(b.Start())
}

func (b *broker) address() string { return fmt.Sprintf("127.0.0.1:%d", b.port) }

// client returns a client that connects to the broker without a login.
func (b *broker) client(more ...kgo.Opt) *kgo.Client {
	b.Helper()
	client, err := kgo.NewClient(append(more, kgo.SeedBrokers(fmt.Sprintf("127.0.0.1:%d", b.plainPort)), kgo.MetadataMinAge(100*time.Millisecond))...)
	b.must(err)
	return client
}

// topic creates a topic with two partitions.
func (b *broker) topic(name string, configs ...string) {
	b.Helper()
	client := b.client()
	defer client.Close()
	of := kmsg.NewCreateTopicsRequestTopic()
	of.Topic, of.NumPartitions, of.ReplicationFactor = name, 2, 1
	for _, text := range configs {
		key, value, _ := strings.Cut(text, "=")
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, &value
		of.Configs = append(of.Configs, config)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, of)
	resp, err := req.RequestWith(context.Background(), client)
	b.must(err)
	if code := resp.Topics[0].ErrorCode; code != 0 {
		b.Fatalf("creating topic %s: error %d, want 0", name, code)
	}
}

// records returns all committed records of a topic. The records of each partition are in order.
func (b *broker) records(topic string) []*kgo.Record {
	b.Helper()
	client := b.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer client.Close()
	left := map[int32]int64{}
	for partition := range int32(2) {
		if end := b.end(client, topic, partition); end > 0 {
			left[partition] = end
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	var all []*kgo.Record
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		b.must(ctx.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
		})
	}
	return all
}

// end waits until no transaction is open, and then returns the end offset of a partition for readers of committed
// records.
func (b *broker) end(client *kgo.Client, topic string, partition int32) int64 {
	b.Helper()
	ask := func(isolation int8) int64 {
		at := kmsg.NewListOffsetsRequestTopicPartition()
		at.Partition, at.Timestamp = partition, -1
		of := kmsg.NewListOffsetsRequestTopic()
		of.Topic, of.Partitions = topic, []kmsg.ListOffsetsRequestTopicPartition{at}
		req := kmsg.NewPtrListOffsetsRequest()
		req.IsolationLevel, req.Topics = isolation, []kmsg.ListOffsetsRequestTopic{of}
		resp, err := req.RequestWith(context.Background(), client)
		b.must(err)
		return resp.Topics[0].Partitions[0].Offset
	}
	var stable int64
	lab.Eventually(b, 3*patience, "no transaction is open", func() bool {
		stable = ask(1)
		return stable == ask(0)
	})
	return stable
}

// kindTransactionalID is the kind of resource in ACLs for transactional ids.
const kindTransactionalID = kmsg.ACLResourceTypeTransactionalId

// deny denies a user all resources of a kind.
func (b *broker) deny(user string, kind kmsg.ACLResourceType) {
	b.Helper()
	client := b.client()
	defer client.Close()
	acl := kmsg.NewCreateACLsRequestCreation()
	acl.ResourceType, acl.ResourceName, acl.ResourcePatternType = kind, "*", kmsg.ACLResourcePatternTypeLiteral
	acl.Principal, acl.Host = "User:"+user, "*"
	acl.Operation, acl.PermissionType = kmsg.ACLOperationAll, kmsg.ACLPermissionTypeDeny
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = append(req.Creations, acl)
	resp, err := req.RequestWith(context.Background(), client)
	b.must(err)
	if code := resp.Results[0].ErrorCode; code != 0 {
		b.Fatalf("creating an ACL: error %d, want 0", code)
	}
}
