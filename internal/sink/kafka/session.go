package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ullage/ullage/internal/segment"
)

// maxReaches bounds the reaches in memory. A session that would exceed it forgets all reaches and
// asks for them again.
const maxReaches = 1024

// abortTime is how long a session may take to abort its transaction when it ends.
const abortTime = 300 * time.Millisecond

// reach is the last line of a stream that a broker has, as an offset of a segment. The zero
// value is before every line.
type reach struct {
	segment string
	last    int64 // offset of the last line among the raw bytes
}

// has reports whether the broker has the line at an offset of a segment. The segments of a stream are
// ordered both by the numbers and by the times in their names. If the two orders contradict each other,
// the stream began again, or the destination was restored from a snapshot. Then the broker has a
// different line.
func (r reach) has(seg *segment.Info, offset int64) bool {
	if seg.Name == r.segment {
		return offset <= r.last
	}
	last, ok := segment.ParseName(r.segment)
	return ok && seg.Seq < last.Seq && !seg.Start.After(last.Start)
}

// deniedError is the error of a broker that does not allow the user to use transactions.
type deniedError struct{ err error }

func (e *deniedError) Error() string { return fmt.Sprintf("transactions are denied: %v", e.err) }

func (e *deniedError) Unwrap() error { return e.err }

// denied wraps err in a deniedError if the broker denies transactions.
func denied(err error) error {
	for _, one := range []error{kerr.TransactionalIDAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.UnsupportedVersion} {
		if errors.Is(err, one) {
			return &deniedError{err}
		}
	}
	return err
}

// errNotEnded is the error for a transaction that the client regarded as empty and left open.
// This can happen in the first transaction of a client (franz-go 1.22): the goroutine that
// learns the partitions of a topic releases records before it stores the partitions. If the
// client commits in between, it finds no partition with records and reports success.
var errNotEnded = errors.New("the client did not end the transaction")

// endings records whether a client has asked the broker to end a transaction.
type endings struct{ asked atomic.Bool }

// OnBrokerWrite implements [kgo.HookBrokerWrite].
func (e *endings) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == kmsg.EndTxn.Int16() {
		e.asked.Store(true)
	}
}

// session is a client that has exclusive use of a transactional id until another session fences
// it. After an error it can only be closed.
type session struct {
	client  *kgo.Client
	topic   string
	id      string
	exact   bool // with transactions
	reaches map[string]reach
	endings *endings
	within  bool // a transaction is open
	closing sync.Once
}

// newSession creates a client. It ends an open transaction of an earlier session with this id.
func newSession(ctx context.Context, options []kgo.Opt, topic, id string, exact bool) (*session, error) {
	endings := &endings{}
	if exact {
		options = append(options[:len(options):len(options)], kgo.TransactionalID(id), kgo.TransactionTimeout(openFor), kgo.WithHooks(endings))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	s := &session{client: client, topic: topic, id: id, exact: exact, reaches: map[string]reach{}, endings: endings}
	if _, _, err := client.ProducerID(ctx); err != nil {
		s.close()
		if exact {
			err = denied(err)
		}
		return nil, fmt.Errorf("begin a session: %w", err)
	}
	return s, nil
}

// close aborts an open transaction, so that readers need not wait for it, and closes the
// client.
func (s *session) close() {
	if s.within {
		s.within = false
		ctx, cancel := context.WithTimeout(context.Background(), abortTime)
		defer cancel()
		if s.client.AbortBufferedRecords(ctx) == nil {
			_ = s.client.EndTransaction(ctx, kgo.TryAbort) // if this fails, the broker aborts it later
		}
	}
	s.shut()
}

// shut closes the client: all calls return.
func (s *session) shut() { s.closing.Do(s.client.Close) }

// group returns the consumer group of a stream. It has no members, only a committed offset.
func (s *session) group(stream string) string { return s.id + "-" + stream }

// reached returns the reach of a stream after the last transaction.
func (s *session) reached(ctx context.Context, stream string) (reach, error) {
	if !s.exact {
		return reach{}, nil
	}
	if at, known := s.reaches[stream]; known {
		return at, nil
	}
	at, err := s.fetch(ctx, s.group(stream))
	for errors.Is(err, kerr.UnstableOffsetCommit) && ctx.Err() == nil { // the earlier session's transaction is ending
		time.Sleep(20 * time.Millisecond)
		at, err = s.fetch(ctx, s.group(stream))
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		at, err = reach{}, nil // nothing has ever been sent
	}
	if err != nil {
		return reach{}, fmt.Errorf("ask how much of stream %q the topic has: %w", stream, denied(err))
	}
	s.remember(stream, at)
	return at, nil
}

func (s *session) remember(stream string, at reach) {
	if len(s.reaches) >= maxReaches {
		clear(s.reaches)
	}
	s.reaches[stream] = at
}

// fetch asks for the committed offset of a group.
func (s *session) fetch(ctx context.Context, group string) (reach, error) {
	of := kmsg.NewOffsetFetchRequestGroupTopic()
	of.Topic, of.Partitions = s.topic, []int32{0}
	in := kmsg.NewOffsetFetchRequestGroup()
	in.Group, in.Topics = group, []kmsg.OffsetFetchRequestGroupTopic{of}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable, req.Groups = true, []kmsg.OffsetFetchRequestGroup{in}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return reach{}, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return reach{}, err
	}
	var at reach
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			return reach{}, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return reach{}, err
				}
				if p.Offset >= 0 && p.Metadata != nil {
					at = reach{segment: *p.Metadata, last: p.Offset}
				}
			}
		}
	}
	return at, nil
}

// send produces records of a stream. to is the reach of the stream after these records. After
// [errNotEnded], the next session of this id ends the transaction and must send the records again.
func (s *session) send(ctx context.Context, records []kgo.Record, stream string, to reach) error {
	if !s.exact {
		return s.produce(ctx, records)
	}
	if err := s.client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	s.within = true
	s.endings.asked.Store(false)
	if err := s.produce(ctx, records); err != nil {
		return err
	}
	if err := s.commitReach(ctx, s.group(stream), to); err != nil {
		return fmt.Errorf("add the reach to a transaction: %w", denied(err))
	}
	if err := s.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("commit a transaction: %w", err)
	}
	if !s.endings.asked.Load() {
		return errNotEnded
	}
	s.within = false
	s.remember(stream, to)
	return nil
}

// produce sends records, and waits until each is acknowledged or has failed.
func (s *session) produce(ctx context.Context, records []kgo.Record) error {
	var (
		mu    sync.Mutex
		first error
		all   sync.WaitGroup
	)
	all.Add(len(records))
	for i := range records {
		s.client.Produce(ctx, &records[i], func(_ *kgo.Record, err error) {
			mu.Lock()
			if first == nil {
				first = err
			}
			mu.Unlock()
			all.Done()
		})
	}
	err := s.client.Flush(ctx)
	if err != nil {
		s.within = false // the transaction cannot be aborted in time
		s.shut()         // otherwise the client keeps records that may be on the wire
	}
	all.Wait()
	if err != nil {
		return err
	}
	return first
}

// commitReach adds a group and its offset to the transaction.
func (s *session) commitReach(ctx context.Context, group string, to reach) error {
	id, epoch, err := s.client.ProducerID(ctx)
	if err != nil {
		return err
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = s.id, id, epoch, group
	added, err := add.RequestWith(ctx, s.client)
	if err == nil {
		err = kerr.ErrorForCode(added.ErrorCode)
	}
	if err != nil {
		return err
	}
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset, partition.Metadata = to.last, &to.segment
	of := kmsg.NewTxnOffsetCommitRequestTopic()
	of.Topic, of.Partitions = s.topic, []kmsg.TxnOffsetCommitRequestTopicPartition{partition}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = s.id, id, epoch, group
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{of}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return errors.New("the broker's answer lacks the offset")
	}
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}
