package queue

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func push(t *testing.T, q *Queue[int], text string, meta int) bool {
	t.Helper()
	area := q.Reserve(len(text))
	if area == nil {
		return false
	}
	copy(area, text)
	q.Push(len(text), meta)
	return true
}

func TestChunksComeOutInOrderAndWhole(t *testing.T) {
	q := New[int](16, 8, 16)
	for i, s := range []string{"abc", "defgh", "ij"} {
		if !push(t, q, s, i) {
			t.Fatalf("the queue has no room for %q", s)
		}
	}
	got := q.Peek(nil, 8)
	if len(got) != 2 || string(got[0].Data) != "abc" || string(got[1].Data) != "defgh" || got[1].Meta != 1 {
		t.Fatalf(`Peek returned %v, want "abc" and "defgh", the second with the meta 1`, got)
	}
	q.Release(2)
	if m, ok := q.Front(); !ok || m != 2 || q.Bytes() != 2 {
		t.Fatalf("Front returned %d, %v; the queue has %d bytes; want 2, true and 2 bytes", m, ok, q.Bytes())
	}
}

func TestPeekTakesOneChunkThatIsLargerThanAsked(t *testing.T) {
	q := New[int](16, 8, 16)
	push(t, q, "0123456789", 0)
	if got := q.Peek(nil, 4); len(got) != 1 || len(got[0].Data) != 10 {
		t.Fatalf("Peek returned %v, want one chunk of 10 bytes", got)
	}
}

func TestFullQueueRefusesAndSaysWhenThereIsSpace(t *testing.T) {
	q := New[int](10, 8, 10)
	push(t, q, "0123456", 0)
	if q.Reserve(4) != nil {
		t.Fatal("reserved 4 of the 3 bytes left")
	}
	if q.Reserve(3) == nil {
		t.Fatal("could not reserve the 3 bytes left")
	}
	q.Release(1)
	<-q.Space()
	if q.Reserve(10) == nil {
		t.Fatal("an empty queue has no room for its capacity")
	}
}

func TestSpaceIsNotSignalledWhileTheQueueIsMoreThanHalfFull(t *testing.T) {
	q := New[int](10, 8, 10)
	push(t, q, "012", 0)
	push(t, q, "3456789", 1)
	q.Release(1)
	select {
	case <-q.Space():
		t.Fatal("signalled with 7 of 10 bytes in use")
	default:
	}
	q.Release(1)
	<-q.Space()
}

func TestNumberOfChunksIsBounded(t *testing.T) {
	q := New[int](100, 2, 100)
	push(t, q, "a", 0)
	push(t, q, "b", 1)
	if q.Reserve(1) != nil {
		t.Fatal("a third chunk was taken")
	}
}

func TestReadyIsSignalledWhenNoLongerEmptyAndWhenEnoughHasGathered(t *testing.T) {
	q := New[int](100, 10, 5)
	for i, want := range []bool{true, false, true, false} { // 2, 4, 6, 8 bytes
		push(t, q, "xx", i)
		if got := signalled(q.Ready()); got != want {
			t.Errorf("after push %d: signalled %v, want %v", i, got, want)
		}
	}
}

func signalled(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// A producer that needs the whole ring waits until the last queued byte is taken. So the consumer
// is woken, even for fewer bytes than the number that otherwise wakes it.
func TestAProducerWithoutRoomWakesTheConsumerWhateverIsQueued(t *testing.T) {
	q := New[int](100, 8, 50)
	push(t, q, "a", 0)
	push(t, q, "b", 1)
	signalled(q.Ready()) // the queue is no longer empty
	if q.Starved() {
		t.Error("the producer is starved before it has asked for room")
	}
	if q.Reserve(100) != nil {
		t.Fatal("reserved 100 bytes of the 98 left")
	}
	if !signalled(q.Ready()) || !q.Starved() {
		t.Error("the consumer is not woken although the producer waits for room")
	}
	q.Release(1)
	if signalled(q.Space()) || !q.Starved() {
		t.Error("the producer is woken although its area still has no room")
	}
	q.Release(1)
	if !signalled(q.Space()) || q.Starved() || q.Reserve(100) == nil {
		t.Error("the producer is not woken although its area has room")
	}
}

func TestAProducerWithoutADescriptionWakesTheConsumer(t *testing.T) {
	q := New[int](100, 2, 50)
	push(t, q, "a", 0)
	push(t, q, "b", 1)
	signalled(q.Ready())
	if q.Reserve(1) != nil || !signalled(q.Ready()) || !q.Starved() {
		t.Error("the consumer is not woken although the queue cannot describe another chunk")
	}
	q.Release(1)
	if !signalled(q.Space()) || q.Starved() {
		t.Error("the producer is not woken although the queue can describe one more chunk")
	}
}

func TestALowerWakeIsSignalledIfAsMuchIsQueuedAlready(t *testing.T) {
	q := New[int](100, 8, 50)
	push(t, q, "0123456789", 0)
	signalled(q.Ready())
	q.SetWake(10)
	if !signalled(q.Ready()) {
		t.Error("the consumer is not woken for the 10 bytes that it now wants")
	}
}

func TestSpanJoinsChunksThatLieSideBySide(t *testing.T) {
	q := New[int](10, 8, 10)
	push(t, q, "abcd", 0)
	push(t, q, "efg", 1)
	if data, ok := q.Span(q.Peek(nil, 10)); !ok || string(data) != "abcdefg" {
		t.Fatalf(`Span returned %q, %v; want "abcdefg", true`, data, ok)
	}
	q.Release(1)
	push(t, q, "hij", 2)
	push(t, q, "klm", 3) // at the beginning of the ring
	if data, ok := q.Span(q.Peek(nil, 10)); ok {
		t.Fatalf("chunks on both sides of the ring's end were joined: %q", data)
	}
}

func TestResetEmptiesTheQueue(t *testing.T) {
	q := New[int](10, 4, 10)
	push(t, q, "0123456789", 0)
	q.Reset()
	if _, ok := q.Front(); ok || q.Bytes() != 0 || q.Reserve(10) == nil {
		t.Fatal("the queue is not empty")
	}
}

// TestRingAgainstModel drives the ring with random sizes and compares its output with a
// plain slice of slices.
func TestRingAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		q := New[int](64, 5, 32)
		var model [][]byte
		for n := range 500 {
			if rng.IntN(2) == 0 {
				size := 1 + rng.IntN(32)
				area := q.Reserve(size)
				if starved := q.Starved(); starved != (area == nil) {
					t.Fatalf("seed %d: starved %v, and the area has %d bytes; want starved true exactly if there is no area", seed, starved, len(area))
				}
				if area == nil {
					continue
				}
				for i := range area {
					area[i] = byte(n)
				}
				keep := 1 + rng.IntN(size)
				model = append(model, bytes.Clone(area[:keep]))
				q.Push(keep, n)
				continue
			}
			limit := rng.IntN(64)
			want, total := 0, 0
			for i, chunk := range model {
				if total += len(chunk); i > 0 && total > limit {
					break
				}
				want++
			}
			got := q.Peek(nil, limit)
			if len(got) != want {
				t.Fatalf("seed %d: %d chunks of at most %d bytes, want %d", seed, len(got), limit, want)
			}
			for i, c := range got {
				if !bytes.Equal(c.Data, model[i]) {
					t.Fatalf("seed %d: chunk %d is %v, want %v", seed, i, c.Data, model[i])
				}
			}
			if len(got) > 0 {
				k := rng.IntN(len(got) + 1)
				q.Release(k)
				model = model[k:]
			}
		}
	}
}

func TestProducerAndConsumerRunConcurrently(t *testing.T) {
	const total = 20000
	q := New[uint32](1<<12, 64, 1<<10)
	go func() {
		for i := uint32(0); i < total; {
			area := q.Reserve(8 + int(i%100))
			if area == nil {
				<-q.Space()
				continue
			}
			binary.LittleEndian.PutUint32(area, i)
			q.Push(len(area), i)
			i++
		}
	}()
	var got []Chunk[uint32]
	for want := uint32(0); want < total; {
		got = q.Peek(got[:0], 1<<11)
		if len(got) == 0 {
			<-q.Ready()
			continue
		}
		for _, c := range got {
			if v := binary.LittleEndian.Uint32(c.Data); v != want || c.Meta != want {
				t.Fatalf("the chunk contains %d and has the meta %d, want %d in both", v, c.Meta, want)
			}
			want++
		}
		q.Release(len(got))
	}
}
