package sinks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/test/lab"
)

// shop is a rig whose sink is a topic of a broker.
type shop struct {
	*rig
	broker    *broker
	topicName string
	login     string // the directory with user and password
}

// newShop returns a shop and starts its sidecar and its writer.
func newShop(t *testing.T, b *broker, topic string) *shop {
	t.Helper()
	s := idleShop(t, b, topic, "sasl=scram-sha-512")
	s.begins(10_000)
	return s
}

// idleShop returns a shop and starts nothing. The options of the sink determine how it logs in.
func idleShop(t *testing.T, b *broker, topic, options string) *shop {
	t.Helper()
	login := t.TempDir()
	sink := fmt.Sprintf("kafka://%s/%s?tls=true&credentials=%s&ca=%s&%s", b.wire.address(), topic, escaped("dir:"+login), escaped(b.ca()), options)
	s := &shop{newRig(t, "ullage_sink_lines_total", sink, "--segment-bytes", "256Ki"), b, topic, login}
	s.password("s3cret")
	return s
}

func (s *shop) password(text string) {
	s.must(os.WriteFile(filepath.Join(s.login, "username"), []byte("ullage\n"), 0o600))
	s.must(os.WriteFile(filepath.Join(s.login, "password"), []byte(text+"\n"), 0o600))
}

// collect writes the records of the topic into a destination, as the lines of their stream. If once is true, it writes
// only the first record with each uid. It returns how many records were repeated.
func (s *shop) collect(once bool) (dest string, again int) {
	s.Helper()
	dest = filepath.Join(s.TempDir(), "collected")
	s.must(os.MkdirAll(filepath.Join(dest, stream), 0o755))
	file, err := os.Create(filepath.Join(dest, stream, "20260101T000000.000Z-000001.log"))
	s.must(err)
	defer file.Close()
	seen := map[string]bool{}
	for _, r := range s.broker.records(s.topicName) {
		switch string(r.Key) {
		case "shop/web-0/" + stream:
		case "shop/web-0/" + mark.Stream:
			continue
		default:
			s.Fatalf("a record has the key %q, want the key of the stream or of the marks", r.Key)
		}
		uid := header(r, "uid")
		if seen[uid] {
			again++
			if once {
				continue
			}
		}
		seen[uid] = true
		_, err := file.Write(append(r.Value, '\n'))
		s.must(err)
	}
	return dest, again
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// settles drains the sidecar and compares the topic with the written lines: the topic must have each line
// once, in order.
func (s *shop) settles() {
	s.Helper()
	s.drains()
	dest, again := s.collect(false)
	s.balances(dest)
	if again > 0 {
		s.Errorf("%d uids occur more than once, want 0", again)
	}
}

// Whatever a broker or the network does, each line is in the topic once.
func TestKafkaHasEachLineOnce(t *testing.T) {
	b := newBroker(t)
	is := func(fault string) func(*rig, server) { return func(*rig, server) { b.wire.is(fault) } }
	for i, f := range []outage{
		outages[0],
		outages[1],
		{name: "is suspended for longer than an attempt", lasts: 40 * time.Second, begin: outages[2].begin, end: outages[2].end},
		{name: deaf, kind: "unavailable", begin: is(deaf)},
		{name: clipped, lasts: 5 * time.Second, begin: is(clipped)},
		{name: mute, lasts: 5 * time.Second, begin: is(mute)},
		{name: thin, lasts: 45 * time.Second, begin: is(thin)},
		{name: "has another password", kind: "unavailable"},
		outages[3],
	} {
		t.Run(f.name, func(t *testing.T) {
			topic := fmt.Sprintf("lines-%d", i)
			b.topic(topic)
			s := newShop(t, b, topic)
			s.arrives(10_000)
			if f.name == "has another password" {
				f.begin = func(*rig, server) { s.password("wrong"); b.wire.cut() }
				f.end = func(*rig, server) { s.password("s3cret") }
			}
			f.run(s.rig, b, nil, nil)
			b.wire.is(passes)
			s.arrives(10_000)
			s.settles()
		})
	}
}

// A sidecar is killed at arbitrary moments, even between the broker's commit and the save of the sidecar's cursor. In
// the end the sidecar even loses the cursor.
func TestKafkaAfterKills(t *testing.T) {
	b := newBroker(t)
	b.topic("lines")
	s := newShop(t, b, "lines")
	s.killedOften(30, func(int) { s.arrives(1) })
	cursor := filepath.Join(s.dest, ".ullage/sinks/kafka.json")
	lab.Eventually(t, patience, "the cursor is saved", func() bool { _, err := os.Stat(cursor); return err == nil })
	s.side.Kill()
	s.must(os.Remove(cursor))
	s.start()
	s.arrives(1)
	s.settles()
}

// A broker that denies transactions gets each line at least once, and the status reports that.
func TestKafkaDeniesTransactions(t *testing.T) {
	b := newBroker(t, "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS", "allow.everyone.if.no.acl.found=true")
	b.topic("lines")
	b.deny("ullage", kindTransactionalID)
	s := newShop(t, b, "lines")
	s.arrives(10_000)
	if _, status, err := s.side.Get("/status"); err != nil || !strings.Contains(status, "at least once: the broker denies transactions") {
		t.Errorf(`the status is %s, error %v, want "at least once: the broker denies transactions" in it`, status, err)
	}
	s.side.Kill()
	s.start()
	s.arrives(10_000)
	s.drains()
	dest, again := s.collect(true)
	t.Logf("%d records were repeated", again)
	s.balances(dest)
}

// A topic that refuses the time of a line gets nothing, and the status says why. Once the topic accepts the time, no
// line is missing.
func TestKafkaRefusesTheTimeOfALine(t *testing.T) {
	b := newBroker(t)
	b.topic("lines", "message.timestamp.before.max.ms=60000")
	s := newShop(t, b, "lines")
	line := "[2020-01-01T00:00:00.000+0000][info][gc] of another year\n"
	s.must(os.WriteFile(filepath.Join(s.source, "old.log"), []byte(line), 0o644))
	lab.Eventually(t, 3*patience, "the status says why", func() bool {
		_, status, err := s.side.Get("/status")
		return err == nil && strings.Contains(status, "timestamp=send")
	})
	s.stop()
	s.side.Kill()
	s.flags[len(s.flags)-1] += "&timestamp=send"
	s.start()
	lab.Eventually(t, 3*patience, "the line arrives", func() bool {
		return s.sum("ullage_sink_lag_seconds") == 0 && s.sum(s.counts) > 0
	})
	s.must(s.side.Stop(2 * patience))
	found := 0
	for _, r := range b.records("lines") {
		if string(r.Value) == strings.TrimSpace(line) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the topic has the line %d times, want once", found)
	}
}
