package sinks

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/test/lab"
)

// shop is a writer, a sidecar with a Kafka sink, and the topic behind it.
type shop struct {
	*testing.T
	broker       *broker
	topicName    string
	source, dest string
	login        string // the directory with user and password
	flags        []string
	side         *lab.Sidecar
	writer       *lab.Writer
	stop         func()
}

// newShop starts everything. More are options of the sink.
func newShop(t *testing.T, b *broker, topic, more string) *shop {
	t.Helper()
	s := idleShop(t, b, topic, "sasl=scram-sha-512"+more)
	s.start()
	s.writer, s.stop = lab.Write(t, lab.Output{Path: filepath.Join(s.source, stream), Seed: 1, Rate: 10_000})
	return s
}

// idleShop starts nothing. The options of the sink say how it logs in.
func idleShop(t *testing.T, b *broker, topic, options string) *shop {
	t.Helper()
	s := &shop{T: t, broker: b, topicName: topic, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(t.TempDir(), "dest"), login: t.TempDir()}
	s.password("s3cret")
	sink := fmt.Sprintf("kafka://%s/%s?tls=true&credentials=%s&ca=%s&%s", b.wire.address(), topic,
		url.QueryEscape("dir:"+s.login), url.QueryEscape(b.ca()), options)
	s.flags = []string{"--sync-interval", "100ms", "--segment-bytes", "256Ki", "--pod-namespace", "shop", "--pod-name", "web-0", "--drain-timeout", "90s", "--sink", sink}
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *shop) password(text string) {
	s.must(os.WriteFile(filepath.Join(s.login, "username"), []byte("ullage\n"), 0o600))
	s.must(os.WriteFile(filepath.Join(s.login, "password"), []byte(text+"\n"), 0o600))
}

func (s *shop) start() {
	s.Helper()
	side, err := lab.StartCommand(exec.Command(lab.Binary(), append([]string{"run", "--source", s.source, "--dest", s.dest, "--listen", "127.0.0.1:0"}, s.flags...)...))
	s.must(err)
	s.side = side
	s.Cleanup(func() {
		side.Kill()
		if s.Failed() {
			s.Logf("the sidecar logged:\n%s", side.Stderr())
		}
	})
}

func (s *shop) metric(name string) float64 {
	s.Helper()
	value, err := s.side.Metric(name)
	s.must(err)
	return value
}

// sends waits until so many more lines are acknowledged.
func (s *shop) sends(n float64) {
	s.Helper()
	const lines = `ullage_sink_lines_total{sink="kafka"}`
	defer func() {
		if s.Failed() {
			_, st, _ := s.side.Get("/status")
			s.Log(st)
		}
	}()
	end := s.metric(lines) + n
	lab.Eventually(s, 3*patience, "lines are acknowledged", func() bool { return s.metric(lines) >= end })
}

// fails waits until a delivery fails.
func (s *shop) fails() {
	s.Helper()
	lab.Eventually(s, 3*patience, "a delivery fails", func() bool {
		return s.metric(`ullage_sink_errors_total{kind="unavailable",sink="kafka"}`)+s.metric(`ullage_sink_errors_total{kind="timeout",sink="kafka"}`) > 0
	})
}

// drains ends the writer and the sidecar, which sends what is left.
func (s *shop) drains() {
	s.Helper()
	s.stop()
	if err := s.side.Stop(4 * patience); err != nil {
		s.Error(err)
	}
}

// collect writes what the topic has to where a destination has it, once for each uid if
// that is asked for, and returns how many records came again.
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
			s.Fatalf("a record has the key %q", r.Key)
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

// settles drains everything, and compares the topic with what was written: each line
// once, in order.
func (s *shop) settles() {
	s.Helper()
	s.drains()
	dest, again := s.collect(false)
	balance, err := lab.Check(dest, stream, s.writer)
	s.Logf("in the topic: %v; %d again", balance, again)
	if err != nil || !balance.Exact() || again > 0 {
		s.Errorf("the topic: %v, %d uids again, error: %v; the sidecar logged:\n%s", balance, again, err, s.side.Stderr())
	}
}

// Whatever a broker or the network does: each line is in the topic once.
func TestKafkaHasEachLineOnce(t *testing.T) {
	b := newBroker(t)
	for i, c := range []struct {
		name  string
		fault func(s *shop)
	}{
		{"no fault", func(*shop) {}},
		{"the broker is killed, and back after 3 s", func(s *shop) {
			b.kill()
			s.fails()
			time.Sleep(3 * time.Second)
			b.start()
		}},
		{"the broker stands still for 40 s", func(s *shop) {
			b.must(b.cmd.Process.Signal(unix.SIGSTOP))
			time.Sleep(40 * time.Second) // longer than an attempt
			b.must(b.cmd.Process.Signal(unix.SIGCONT))
		}},
		{"the broker accepts and answers nothing", func(s *shop) {
			b.wire.is(deaf)
			s.fails()
		}},
		{"connections are cut within a request", func(s *shop) {
			b.wire.is(clipped)
			time.Sleep(5 * time.Second)
		}},
		{"connections are cut within an answer", func(s *shop) {
			b.wire.is(mute)
			time.Sleep(5 * time.Second)
		}},
		{"a network of 1 KB a second", func(s *shop) {
			b.wire.is(thin)
			time.Sleep(45 * time.Second)
		}},
		{"the password is wrong for a while", func(s *shop) {
			s.password("wrong")
			b.wire.cut()
			s.fails()
			s.password("s3cret")
		}},
		{"the certificate expires and is renewed", func(s *shop) {
			b.certificate(time.Now().Add(-time.Minute))
			b.restart()
			s.fails()
			b.certificate(time.Now().Add(time.Hour))
			b.restart()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			topic := fmt.Sprintf("lines-%d", i)
			b.topic(topic)
			s := newShop(t, b, topic, "")
			s.sends(10_000)
			c.fault(s)
			b.wire.is(passes)
			s.sends(10_000)
			s.settles()
		})
	}
}

// A sidecar is killed at any moment, also between a commit at the broker and its own
// cursor; at the end it even loses the cursor.
func TestKafkaAfterKills(t *testing.T) {
	b := newBroker(t)
	b.topic("lines")
	s := newShop(t, b, "lines", "")
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	const kills = 30
	for range kills {
		s.sends(1)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		s.side.Kill()
		s.start()
	}
	cursor := filepath.Join(s.dest, ".ullage/sinks/kafka.json")
	lab.Eventually(t, patience, "the cursor is saved", func() bool { _, err := os.Stat(cursor); return err == nil })
	s.side.Kill()
	s.must(os.Remove(cursor))
	s.start()
	s.sends(1)
	s.settles()
}

// A broker that denies transactions gets each line at least once, and the status says so.
func TestKafkaDeniesTransactions(t *testing.T) {
	b := newBroker(t, "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS", "allow.everyone.if.no.acl.found=true")
	b.topic("lines")
	b.deny("ullage", kindTransactionalID)
	s := newShop(t, b, "lines", "")
	s.sends(10_000)
	if _, status, err := s.side.Get("/status"); err != nil || !strings.Contains(status, "at least once: the broker denies transactions") {
		t.Errorf("the status is %s, error %v", status, err)
	}
	s.side.Kill()
	s.start()
	s.sends(10_000)
	s.drains()
	dest, again := s.collect(true)
	balance, err := lab.Check(dest, stream, s.writer)
	t.Logf("in the topic: %v; %d again", balance, again)
	if err != nil || !balance.Exact() {
		t.Errorf("the topic without its repetitions: %v, error %v", balance, err)
	}
}

// A topic that refuses the time of a line gets nothing, says why, and lacks nothing once
// it takes it.
func TestKafkaRefusesTheTimeOfALine(t *testing.T) {
	b := newBroker(t)
	b.topic("lines", "message.timestamp.before.max.ms=60000")
	s := newShop(t, b, "lines", "")
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
		return s.metric(`ullage_sink_lag_seconds{sink="kafka"}`) == 0 && s.metric(`ullage_sink_lines_total{sink="kafka"}`) > 0
	})
	s.must(s.side.Stop(2 * patience))
	found := 0
	for _, r := range b.records("lines") {
		if string(r.Value) == strings.TrimSpace(line) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the line is %d times in the topic", found)
	}
}
