package segment_test

import (
	"testing"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// A Follower in the writer's process returns committed bytes only, never bytes that a restart may cut off and replace.
func TestFollowOnlyWhatIsCommitted(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		var mark segment.Mark
		known := true
		d.opt.Committed = func() (segment.Mark, bool) { return mark, known }
		must(t, d.f.Close())
		d.open(d.opt)

		s := d.store.Stream("gc.log")
		_, _, err := s.Recover()
		must(t, err)
		texts(t, s, "one\n", "two\n")
		d.expect("") // nothing is committed
		sync := func() segment.Mark {
			t.Helper()
			m, err := s.Sync()
			must(t, err)
			return m
		}
		mark = sync()
		texts(t, s, "three\n")
		d.expect("one\ntwo\n")

		mark = sync()
		d.expect("three\n")
		committed := mark
		d.store.SealAll() // the next line goes into another segment
		texts(t, s, "lost\n")
		sync()
		d.expect("")

		s = d.restart(committed)
		texts(t, s, "four\n")
		d.expect("")
		mark = sync()
		d.expect("four\n")

		texts(t, s, "five\n")
		sync()
		known = false // the whole stream is committed
		d.expect("five\n")
		d.expectErrors()
	})
}

// A Follower reads ahead, so it has frames past the mark in memory. These frames are cut off, and others are committed
// in their place.
func TestFollowerForgetsWhatWasCutOff(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		var mark segment.Mark
		d.opt.Committed = func() (segment.Mark, bool) { return mark, true }
		must(t, d.f.Close())
		d.open(d.opt)
		s := d.store.Stream("gc.log")
		_, _, err := s.Recover()
		must(t, err)
		texts(t, s, "one\n")
		mark, err = s.Sync()
		must(t, err)
		texts(t, s, "lost\n") // appended, not committed
		d.expect("one\n")
		s.Abandon() // the destination failed; the writer goes back to the mark
		must(t, s.Resume(mark, store.Unbounded))
		texts(t, s, "four\n")
		mark, err = s.Sync()
		must(t, err)
		d.expect("four\n")
		d.expectErrors()
	})
}
