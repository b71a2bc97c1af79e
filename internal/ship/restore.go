package ship

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ullage/ullage/internal/ship/checkpoint"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/tail"
)

// start is the state of the checkpoint and the streams when reading begins.
type start struct {
	keyed    bool // the destination has answered, so its key is known
	invalid  bool // a slot of the checkpoint exists and is not used
	lost     bool // a previous process had a checkpoint; no valid slot is left
	outdated bool // another sidecar has used the destination since the checkpoint was saved
	source   tail.Found
	byName   tail.Found // the source if each file belongs to the stream of its name; used if the checkpoint is not ours
	streams  []string   // the streams whose segments may have lines of these files
}

// restore returns the source to the state at which the last process ended. It runs before
// the loops, so it may use the state of either loop. It does not call the
// destination, which may be stalled: begin does that.
func (s *Shipper) restore(keyed bool) (start, error) {
	s.link.news.take().apply(s.check, s.detail)
	found := s.check.Load()
	s.reportInvalid(found.Invalid)
	if keyed {
		// This must precede any trigger that the reader finds, which would start a second save.
		// Without the key, the checkpoint may be for another destination: begin then resumes.
		s.detail.resume()
	}
	// A new source gets a checkpoint before anything else. So if there was a checkpoint and
	// no valid slot is left, the checkpoint was lost.
	lost := s.check.Lost || found.Begun && !found.Marked && !found.Claimed
	s.check.Lost = lost
	saved := streamsOf(s.check.Files())
	s.src.Start.Restore(s.check.Files(), lost)
	if _, err := s.src.Scanner.Scan(); err != nil {
		return start{}, fmt.Errorf("find where the last run ended: %w", err)
	}
	if !found.Begun && !found.Marked && !found.Claimed && len(found.Invalid) == 0 && s.src.Start.LostAfterAll() {
		lost = true
		s.check.Lost = true
		// messages.md#the-checkpoint: `SOURCE/.ullage` is gone, and a hole in a log shows that a
		// sidecar has persisted lines of it. The segments decide where reading resumes.
		s.log.Warn("state directory was removed", "hint", "the segments decide where reading resumes; only the sidecar should write to .ullage in the source")
	}
	s.view.update(s.src)
	s.check.SetFiles(s.src.Start.Positions())
	from := start{keyed: keyed, invalid: len(found.Invalid) > 0, lost: lost, source: s.src.Start.Found(), byName: s.src.Start.FoundByName()}
	if from.streams = from.source.Streams; !lost && (found.Marked || found.Claimed) {
		from.streams = saved // no line of other streams was persisted
	}
	return from, nil
}

func streamsOf(files map[position.Content]position.Saved) []string {
	names := map[string]struct{}{}
	for _, f := range files {
		if f.Stream != "" {
			names[f.Stream] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(names))
}

// hintInvalid is the hint for a checkpoint that is not used.
const hintInvalid = "without a valid slot, the segments decide where reading resumes, and nothing durable is cut; only the sidecar should write to .ullage in the source"

func (s *Shipper) reportInvalid(invalid []error) {
	for _, err := range invalid {
		s.metrics.checkpointInvalid.WithLabelValues(checkpoint.Reason(err)).Inc()
		// messages.md#the-checkpoint: The slot is torn, unreadable, changed by another process,
		// made for another `--dest`, or older than the newest checkpoint because another process
		// put an old slot back or damaged the newest. The other slot, or else the segments, decide
		// where reading resumes. Nothing that is durable is cut.
		s.log.Warn("invalid checkpoint slot ignored", "error", err, "hint", hintInvalid)
	}
}

// unseal finds out whether the checkpoint is ours. Reading began with it before the destination
// answered.
func (s *Shipper) unseal(from start) start {
	invalid := s.check.Unseal(s.store.Load().Key(), s.store.Load().Number())
	s.reportInvalid(invalid)
	if from.invalid = len(invalid) > 0; from.invalid {
		from.source, from.streams = from.byName, from.byName.Streams
	}
	return from
}
