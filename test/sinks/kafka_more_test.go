package sinks

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ullage/ullage/test/lab"
)

// The sidecar logs in with each mechanism. It presents a certificate if the broker requires
// one.
func TestKafkaLogins(t *testing.T) {
	for name, c := range map[string]struct {
		properties []string
		options    func(b *broker) string
	}{
		"PLAIN":         {nil, func(*broker) string { return "sasl=plain" }},
		"SCRAM-SHA-256": {nil, func(*broker) string { return "sasl=scram-sha-256" }},
		"SCRAM-SHA-512 and a client certificate": {[]string{"listener.name.sasl_ssl.ssl.client.auth=required"}, func(b *broker) string {
			return "sasl=scram-sha-512&cert=" + escaped(b.ca()) + "&key=" + escaped(filepath.Join(b.dir, "key.pem"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t, c.properties...)
			b.topic("lines")
			s := idleShop(t, b, "lines", c.options(b))
			s.begins(10_000)
			s.arrives(10_000)
			s.settles()
		})
	}
}

// The broker's disk is full, so the broker ends. Once there is space and the broker runs again, no line is missing
// or repeated.
func TestKafkaDiskIsFull(t *testing.T) {
	dir := lab.Tmpfs(t, "200m")
	b := newBroker(t, "log.dirs="+dir, "log.index.size.max.bytes=1048576")
	b.topic("lines")
	s := newShop(t, b, "lines")
	s.arrives(10_000)
	ballast := filepath.Join(dir, "ballast")
	lab.Fill(t, ballast)
	s.fails("")
	lab.Eventually(t, 3*patience, "the broker ends", b.Exited)
	s.must(os.Remove(ballast))
	restart(b)
	s.arrives(10_000)
	s.settles()
}

// The broker throttles the client to a fraction of the incoming lines, and answers late.
func TestKafkaQuota(t *testing.T) {
	b := newBroker(t)
	b.topic("lines")
	b.quota(20_000)
	s := newShop(t, b, "lines")
	time.Sleep(20 * time.Second)
	sent := s.sum(s.counts)
	if written := float64(s.writer.Written()); sent > written/2 {
		t.Errorf("%v of %v lines were sent, want at most half: the quota is not in effect", sent, written)
	}
	b.quota(0)
	s.arrives(10_000)
	s.settles()
}

// quota limits how many bytes a second the user may send; 0 removes the limit.
func (b *broker) quota(bytes float64) {
	b.Helper()
	client := b.client()
	defer client.Close()
	entity := kmsg.NewAlterClientQuotasRequestEntryEntity()
	user := "ullage"
	entity.Type, entity.Name = "user", &user
	op := kmsg.NewAlterClientQuotasRequestEntryOp()
	op.Key, op.Value, op.Remove = "producer_byte_rate", bytes, bytes == 0
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	entry.Entity = append(entry.Entity, entity)
	entry.Ops = append(entry.Ops, op)
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Entries = append(req.Entries, entry)
	resp, err := req.RequestWith(context.Background(), client)
	b.must(err)
	if code := resp.Entries[0].ErrorCode; code != 0 {
		b.Fatalf("setting a quota: error %d, want 0", code)
	}
}

// The broker's clock is an hour fast or slow. If it is slow, the times of new lines seem to be in
// the future, and the broker refuses the lines. They wait until the clock is right.
func TestKafkaClockIsAnHourOff(t *testing.T) {
	for _, off := range []string{"+1h", "-61m"} {
		t.Run(off, func(t *testing.T) {
			b := newBroker(t)
			b.topic("lines")
			b.clock = off
			restart(b)
			s := newShop(t, b, "lines")
			if off[0] == '+' {
				s.arrives(10_000)
			} else {
				lab.Eventually(t, 3*patience, "the status says why", func() bool {
					_, status, err := s.side.Get("/status")
					return err == nil && strings.Contains(status, "timestamp=send")
				})
			}
			b.clock = ""
			restart(b)
			s.arrives(10_000)
			s.settles()
		})
	}
}

// The destination is frozen so that lines are dropped, and meanwhile the broker is down. The topic has the lines and
// markers of the segments, each once.
func TestKafkaWhileLinesAreDropped(t *testing.T) {
	b := newBroker(t)
	b.topic("lines")
	s := idleShop(t, b, "lines", "sasl=scram-sha-512")
	s.floods()
	s.arrives(1000)
	b.Kill()
	s.drops()
	b.start()
	s.settlesFlood(func() string {
		dest, again := s.collect(false)
		if again > 0 {
			t.Errorf("%d uids occur more than once, want 0", again)
		}
		return dest
	})
}

// Two sidecars with the same pod name use the same transactional id: the later sidecar fences the earlier one,
// which continues and fences the later one in turn. No line is lost or repeated.
func TestKafkaFencing(t *testing.T) {
	b := newBroker(t)
	b.topic("lines")
	s := newShop(t, b, "lines")
	s.arrives(10_000)
	rival := idleShop(t, b, "lines", "sasl=scram-sha-512")
	rival.start()
	other, stop := lab.Write(t, lab.Output{Path: filepath.Join(rival.source, "other.log"), Seed: 2, Rate: 1000})
	time.Sleep(10 * time.Second)
	stop()
	if err := rival.side.Stop(5 * patience); err != nil {
		t.Error(err)
	}
	s.arrives(1000)
	s.drains()
	count := map[string]int{}
	for _, r := range b.records("lines") {
		count[header(r, "stream")]++
	}
	t.Logf("%v records; %d and %d lines were written", count, s.writer.Written(), other.Written())
	if count[stream] != s.writer.Written() || count["other.log"] != other.Written() {
		t.Errorf("the broker has the records %v, want %d of %s and %d of other.log; the sidecars logged:\n%s\n%s", count, s.writer.Written(), stream, other.Written(), s.side.Stderr(), rival.side.Stderr())
	}
}
