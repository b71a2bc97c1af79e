package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const first, second = "20261122T100000.000Z-000001.log.zst", "20261122T110000.000Z-000002.log.zst"

// rig is a fake cluster whose answers a test can set.
type rig struct {
	*testing.T
	cluster *kfake.Cluster
}

func newRig(t *testing.T) *rig {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return &rig{t, cluster}
}

// sink opens a sink, as a new process does.
func (r *rig) sink(more string) *topic {
	r.Helper()
	s, err := open(target(r, "kafka://"+strings.Join(r.cluster.ListenAddrs(), ",")+"/lines?"+more))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = s.Close() })
	s.(sink.Identified).Identify("0123456789abcdef01234567")
	return s.(*topic)
}

func target(t testing.TB, text string) sink.Target {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sink.Target{Name: "kafka", URL: u, Options: address.NewOptions(u.Query()), Pod: sink.Pod{Namespace: "shop", Name: "web-0"}}
}

// batch makes a batch of lines that begin at an offset of a segment.
func batch(t testing.TB, name string, offset int64, lines ...string) *sink.Batch {
	t.Helper()
	seg, ok := segment.ParseName(name)
	if !ok {
		t.Fatalf("%q is not the name of a segment", name)
	}
	b := &sink.Batch{Stream: "gc.log", Segment: seg}
	for _, text := range lines {
		b.Lines = append(b.Lines, sink.Line{Offset: offset, Text: []byte(text), Time: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Class: ul.Class{Kind: ul.Header, Level: ul.Info}})
		offset += int64(len(text)) + 1
	}
	return b
}

func (r *rig) delivers(s sink.Sink, b *sink.Batch) {
	r.Helper()
	if err := s.Deliver(r.Context(), b); err != nil {
		r.Fatal(err)
	}
}

// has fails the test unless readers of committed records see exactly these lines. It returns the
// records.
func (r *rig) has(want ...string) []*kgo.Record {
	r.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.ListenAddrs()...), kgo.ConsumeTopics("lines"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		r.Fatal(err)
	}
	defer client.Close()
	var all []*kgo.Record
	var got []string
	for quiet := 0; quiet < 2 || len(got) < len(want); {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		records := client.PollFetches(ctx).Records()
		cancel()
		if quiet++; len(records) > 0 {
			quiet = 0
		}
		if quiet > 120 {
			break
		}
		for _, one := range records {
			all, got = append(all, one), append(got, string(one.Value))
		}
	}
	if !slices.Equal(got, want) {
		r.Fatalf("the topic has %q, want %q", got, want)
	}
	return all
}

// fails makes the broker answer the next request of a kind with an error.
func (r *rig) fails(key kmsg.Key, answer func(kmsg.Request) (kmsg.Response, error)) {
	r.cluster.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp, err := answer(req)
		return resp, err, true
	})
}

func TestARecordIsALineWithItsPlace(t *testing.T) {
	r := newRig(t)
	b := batch(t, first, 7, "one", "[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1290 lines, 123456 bytes dropped in 12.345s: discard info=1200 debug=34; drop warning=6 info=50")
	b.Lines[1].Level = ul.Warning
	r.delivers(r.sink(""), b)
	all := r.has("one", string(b.Lines[1].Text))
	headers := func(n int) string {
		var text []string
		for _, h := range all[n].Headers {
			text = append(text, h.Key+"="+string(h.Value))
		}
		return strings.Join(text, " ")
	}
	if want := "level=info stream=gc.log uid=gc.log/" + first + "/7"; headers(0) != want {
		t.Errorf("headers %s, want %s", headers(0), want)
	}
	if want := "level=warning stream=gc.log uid=gc.log/" + first + "/11 gap.lines=1290 gap.bytes=123456 gap.discard.debug=34 gap.discard.info=1200 gap.drop.info=50 gap.drop.warning=6"; headers(1) != want {
		t.Errorf("headers %s, want %s", headers(1), want)
	}
	if key := string(all[0].Key); key != "shop/web-0/gc.log" {
		t.Errorf("the key is %q, want shop/web-0/gc.log", key)
	}
	if !all[0].Timestamp.Equal(b.Lines[0].Time) {
		t.Errorf("the time is %s, want the line's time", all[0].Timestamp)
	}
}

func TestALineOfTheFutureHasTheTimeOfSending(t *testing.T) {
	r := newRig(t)
	b := batch(t, first, 0, "one")
	b.Lines[0].Time = time.Now().Add(time.Hour)
	r.delivers(r.sink(""), b)
	if at := r.has("one")[0].Timestamp; time.Since(at).Abs() > time.Minute {
		t.Errorf("the time is %s, want the time of sending", at)
	}
}

// Even if the worker's cursor is lost or late, committed lines are not sent again.
func TestWhatIsCommittedIsNotSentAgain(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	r.delivers(s, batch(t, first, 0, "one", "two"))
	r.delivers(s, batch(t, second, 0, "three"))
	r.delivers(s, batch(t, first, 0, "one", "two")) // the same session
	_ = s.Close()

	s = r.sink("") // a new process
	r.delivers(s, batch(t, first, 0, "one", "two"))
	r.delivers(s, batch(t, second, 0, "three", "four"))
	r.has("one", "two", "three", "four")
}

// A segment with a lower number has other lines if its stream began again or its destination was
// restored from an older copy.
func TestAnotherSegmentOfALowerNumberIsSent(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	r.delivers(s, batch(t, second, 50, "before"))
	r.delivers(s, batch(t, "20261122T120000.000Z-000001.log.zst", 0, "after"))
	r.has("before", "after")
}

// The broker commits, but its answer is lost.
func TestACommitWithoutAnAnswerIsNotRepeated(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	r.delivers(s, batch(t, first, 0, "one"))
	cut := &cutter{to: r.cluster.ListenAddrs()[0], key: kmsg.EndTxn}
	cut.on.Store(true)
	s.end()
	s.options = append(s.options, kgo.Dialer(cut.dial))
	if err := s.Deliver(t.Context(), batch(t, first, 4, "two")); err == nil || cut.times.Load() == 0 {
		t.Fatalf("%d answers were cut, error %v; want at least 1 and an error", cut.times.Load(), err)
	}
	cut.on.Store(false)
	r.delivers(s, batch(t, first, 4, "two", "three"))
	r.has("one", "two", "three")
}

// A client that finds no partition with records leaves its transaction open and reports
// success. A client of franz-go 1.22 that has just learned of the topic may do so.
func TestATransactionThatTheClientLeavesOpenIsNotTakenForCommitted(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.session.send(t.Context(), nil, "gc.log", reach{segment: first, last: 4}); !errors.Is(err, errNotEnded) {
		t.Errorf("the error is %v, want %v", err, errNotEnded)
	}
	s.end()
	r.delivers(s, batch(t, first, 0, "one", "two"))
	r.has("one", "two")
}

func TestAnErrorInATransactionLeavesNothingBehind(t *testing.T) {
	for name, fault := range map[string]struct {
		key    kmsg.Key
		answer func(kmsg.Request) (kmsg.Response, error)
	}{
		"the records are refused": {kmsg.Produce, func(req kmsg.Request) (kmsg.Response, error) {
			return produced(req.(*kmsg.ProduceRequest), kerr.InvalidRecord), nil
		}},
		"the group is not added": {kmsg.AddOffsetsToTxn, func(req kmsg.Request) (kmsg.Response, error) {
			resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
			resp.ErrorCode = kerr.InvalidTxnState.Code
			return resp, nil
		}},
		"the connection is cut at the reach": {kmsg.TxnOffsetCommit, func(kmsg.Request) (kmsg.Response, error) { return nil, errors.New("cut") }},
		"the commit fails": {kmsg.EndTxn, func(req kmsg.Request) (kmsg.Response, error) {
			resp := req.ResponseKind().(*kmsg.EndTxnResponse)
			resp.ErrorCode = kerr.InvalidProducerEpoch.Code
			return resp, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.sink("")
			r.fails(fault.key, fault.answer)
			if err := s.Deliver(t.Context(), batch(t, first, 0, "one")); err != nil {
				t.Log(err)
				r.delivers(s, batch(t, first, 0, "one"))
			} else if name != "the connection is cut at the reach" { // the client repeats a request after a cut
				t.Error("the delivery returned no error, want one")
			}
			r.delivers(s, batch(t, first, 4, "two"))
			r.has("one", "two")
		})
	}
}

// produced returns an answer that refuses all records.
func produced(req *kmsg.ProduceRequest, why *kerr.Error) *kmsg.ProduceResponse {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		of := kmsg.NewProduceResponseTopic()
		of.Topic, of.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			at := kmsg.NewProduceResponseTopicPartition()
			at.Partition, at.ErrorCode = p.Partition, why.Code
			of.Partitions = append(of.Partitions, at)
		}
		resp.Topics = append(resp.Topics, of)
	}
	return resp
}

func TestATimeThatIsRefusedIsAClearError(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	r.fails(kmsg.Produce, func(req kmsg.Request) (kmsg.Response, error) {
		return produced(req.(*kmsg.ProduceRequest), kerr.InvalidTimestamp), nil
	})
	err := s.Deliver(t.Context(), batch(t, first, 0, "one"))
	var rejected *sink.RejectedError
	if err == nil || errors.As(err, &rejected) || !strings.Contains(err.Error(), "timestamp=send") {
		t.Errorf("the error is %v, want one that names timestamp=send and is not a RejectedError", err)
	}
	r.delivers(s, batch(t, first, 0, "one"))
	r.has("one")
}

func TestALineThatIsTooLargeIsRejectedAndTheOthersArrive(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	err := s.Deliver(t.Context(), batch(t, first, 0, "one", strings.Repeat("x", 1<<20), "two"))
	var rejected *sink.RejectedError
	if !errors.As(err, &rejected) || !slices.Equal(rejected.Lines, []int{1}) {
		t.Errorf("the error is %v, want a RejectedError with Lines [1]", err)
	}
	r.has("one", "two")
}

// A topic that accepts only small batches gets small ones. A line that fits into no small batch is
// rejected.
func TestATopicOfSmallBatchesGetsSmallOnes(t *testing.T) {
	r := newRig(t)
	s := r.sink("compression=none")
	r.cluster.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		r.cluster.KeepControl()
		p := req.(*kmsg.ProduceRequest)
		if len(p.Topics[0].Partitions[0].Records) > 2000 {
			return produced(p, kerr.MessageTooLarge), nil, true
		}
		return nil, nil, false
	})
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("%d %s", i, strings.Repeat("x", 300)))
	}
	texts = append(texts, strings.Repeat("y", 3000), "the end")
	b := batch(t, first, 0, texts...)
	var rejected *sink.RejectedError
	for tries := 0; !errors.As(s.Deliver(t.Context(), b), &rejected); tries++ {
		if tries > 20 {
			t.Fatal("the batch is not delivered after more than 20 attempts, want a RejectedError for one line")
		}
	}
	if !slices.Equal(rejected.Lines, []int{40}) {
		t.Errorf("lines %d are rejected, want line 40", rejected.Lines)
	}
	r.has(append(texts[:40:40], "the end")...)
}

func TestDeniedTransactionsAreNotedAndTriedAgain(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	r.fails(kmsg.InitProducerID, func(req kmsg.Request) (kmsg.Response, error) {
		resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return resp, nil
	})
	if err := s.Deliver(t.Context(), batch(t, first, 0, "one")); err == nil {
		t.Error("a denied transaction returned no error, want one")
	}
	r.delivers(s, batch(t, first, 0, "one"))
	if note := s.Note(); !strings.Contains(note, "at least once") {
		t.Errorf(`the note is %q, want "at least once" in it`, note)
	}
	s.denied = time.Now().Add(-2 * deniedFor)
	r.delivers(s, batch(t, first, 4, "two"))
	if note := s.Note(); note != "" || !s.session.exact {
		t.Errorf("the note is %q, the session is exact: %v; want no note and true", note, s.session.exact)
	}
	r.has("one", "two")
}

func TestADeliveryEndsWithItsContext(t *testing.T) {
	r := newRig(t)
	s := r.sink("")
	r.delivers(s, batch(t, first, 0, "one"))
	block := make(chan struct{})
	r.fails(kmsg.Produce, func(kmsg.Request) (kmsg.Response, error) { <-block; return nil, errors.New("cut") })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := s.Deliver(ctx, batch(t, first, 4, "two"))
	close(block)
	if err == nil {
		t.Error("a delivery without an answer returned no error, want one")
	}
	r.delivers(s, batch(t, first, 4, "two"))
	r.has("one", "two")
}

// A Secret is created after the sidecar has started. Deliveries fail until then.
func TestCredentialsThatDoNotExistYet(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "lines"), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "me", "hidden"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	r, dir := &rig{t, cluster}, t.TempDir()
	for name, c := range map[string]struct {
		options, want string
		create        func(t *testing.T)
	}{
		"files": {"&credentials=dir:" + dir, filepath.Join(dir, "username"), func(t *testing.T) {
			for name, text := range map[string]string{"username": "me\n", "password": "hidden\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}},
		"variables": {"", userVariable, func(t *testing.T) { t.Setenv(userVariable, "me"); t.Setenv(passwordVariable, "hidden") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(userVariable, "")
			s := r.sink("sasl=scram-sha-256" + c.options)
			if err := s.Deliver(t.Context(), batch(t, first, 0, "one")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %s", err, c.want)
			}
			c.create(t)
			if err := s.Deliver(t.Context(), batch(t, first, 0, "one")); err != nil {
				t.Errorf("once the credentials exist: error %v, want none", err)
			}
		})
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"username": "me\n", "password": "hidden\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "username"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"kafka://h:1,g:2/t": "",
		"kafka://h/t?sasl=scram-sha-256&credentials=dir:" + dir: "",
		"kafka:///t":      "is not a broker",
		"kafka://h/":      "name of a topic",
		"kafka://h/a/b":   "name of a topic",
		"kafka://h/..":    "name of a topic",
		"kafka://h/a%20b": "name of a topic",
		"kafka://h/aZ0._-" + strings.Repeat("b", 243):             "",
		"kafka://h/aZ0._-" + strings.Repeat("b", 244):             "name of a topic",
		"kafka://h/t?compression=brotli":                          "zstd, lz4 or none",
		"kafka://h/t?timestamp=never":                             "line or send",
		"kafka://h/t?tls=true&ca=/dev/null":                       "option ca",
		"kafka://h/t?sasl=scram-sha-256&credentials=dir:" + empty: "is empty",
		"kafka://h/t?sasl=gssapi&credentials=dir:" + dir:          "option sasl",
		"kafka://h/t?sasl=plain&credentials=dir:" + dir:           "needs tls=true",
		"kafka://h/t?credentials=vault":                           "option credentials",
		"kafka://h/t?speed=9":                                     "unknown option",
		fmt.Sprintf("kafka://h%s/t", strings.Repeat(",h", 16)):    "at most 16",
	} {
		s, err := open(target(t, query))
		if err == nil {
			_ = s.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want one with %q (none if that is empty)", query, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: the error shows the password", query)
		}
	}
}

// cutter makes connections that are cut when the answer to one kind of request arrives.
type cutter struct {
	to    string
	key   kmsg.Key
	on    atomic.Bool
	times atomic.Int64
}

func (c *cutter) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, c.to)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c}, nil
}

type cutConn struct {
	net.Conn
	cutter *cutter
	asked  atomic.Bool
}

func (c *cutConn) Write(p []byte) (int, error) {
	if len(p) > 6 && int16(binary.BigEndian.Uint16(p[4:])) == c.cutter.key.Int16() {
		c.asked.Store(c.cutter.on.Load())
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.asked.Load() && n > 0 {
		c.cutter.times.Add(1)
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
