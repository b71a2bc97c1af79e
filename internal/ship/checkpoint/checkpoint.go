package checkpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
)

// Checkpoint is the committed state, with the slots from which a restart reads it. Create
// it with [New]. Only [Checkpoint.Save] writes a slot, and only after [Checkpoint.Attach]
// and [Checkpoint.SetKey].
type Checkpoint struct {
	slots slots
	marks map[string]segment.Mark
	fresh map[string]segment.Mark // set since the last TakeMarks
	files map[position.Content]position.Saved

	// Lost reports that an earlier checkpoint was lost and the source is not yet aligned with
	// the segments.
	Lost bool

	// Uncommitted is how many bytes the process that saved the checkpoint may have written to disk
	// after a mark. This process may have different settings.
	Uncommitted int64

	// Withheld counts lines that were read and will not be persisted. It is saved with the
	// positions, so a line is counted exactly once, whenever the process is killed.
	Withheld Withheld
}

// New returns an empty checkpoint without slots.
func New() *Checkpoint {
	return &Checkpoint{marks: map[string]segment.Mark{}, fresh: map[string]segment.Mark{}, files: map[position.Content]position.Saved{}}
}

// Mark returns where a stream's committed segments end.
func (c *Checkpoint) Mark(stream string) (m segment.Mark, ok bool) {
	m, ok = c.marks[stream]
	return m, ok
}

// SetMark sets where a stream's committed segments end. Save the mark before the first
// append after it: without the mark, a restart could not tell which bytes were appended and
// never committed.
func (c *Checkpoint) SetMark(stream string, m segment.Mark) { c.marks[stream], c.fresh[stream] = m, m }

// TakeMarks returns the marks that were set since the last call, or since the start.
func (c *Checkpoint) TakeMarks() map[string]segment.Mark {
	taken := c.fresh
	c.fresh = map[string]segment.Mark{}
	return taken
}

// Streams returns the names of the streams that have a mark.
func (c *Checkpoint) Streams() []string { return slices.Collect(maps.Keys(c.marks)) }

// SetFile records how far a content is durable. All marks and contents set
// between two calls of Save are saved together or not at all.
func (c *Checkpoint) SetFile(of position.Content, saved position.Saved) { c.files[of] = saved }

// Meet records the stream that a content belongs to, and reports whether that changes the
// checkpoint. Save it before the first append of the content.
func (c *Checkpoint) Meet(of position.Content, stream string) (news bool) {
	if _, known := c.files[of]; known {
		return false
	}
	c.files[of] = position.Saved{Stream: stream}
	return true
}

// Add adds positions of contents that are not in the checkpoint. A content that
// is in the checkpoint may have advanced since and keeps its position.
func (c *Checkpoint) Add(files map[position.Content]position.Saved) {
	for of, saved := range files {
		if _, known := c.files[of]; !known {
			c.files[of] = saved
		}
	}
}

// Forget removes contents that no longer exist.
func (c *Checkpoint) Forget(gone []position.Content) {
	for _, of := range gone {
		delete(c.files, of)
	}
}

// Files returns the position of each content. The Checkpoint owns the map.
func (c *Checkpoint) Files() map[position.Content]position.Saved { return c.files }

// SetFiles replaces all positions. The Checkpoint owns files from then on.
func (c *Checkpoint) SetFiles(files map[position.Content]position.Saved) { c.files = files }

// ForgetIdle removes the streams without files if there are more than most of
// them, and returns their names. It keeps the streams in keep, because there
// may be uncommitted bytes after their marks.
func (c *Checkpoint) ForgetIdle(most int, keep func(stream string) bool) (idle []string) {
	used := make(map[string]bool, len(c.marks))
	for _, f := range c.files {
		used[f.Stream] = true
	}
	for name := range c.marks {
		if !used[name] && !keep(name) {
			idle = append(idle, name)
		}
	}
	if len(idle) <= most {
		return nil
	}
	for _, name := range idle {
		delete(c.marks, name)
		c.Withheld.forget(name)
	}
	return idle
}

// Attach sets the state directory; nil means none. The Checkpoint opens its own
// descriptor.
func (c *Checkpoint) Attach(dir *os.File) { c.slots.attach(dir) }

// SetKey sets the key of the destination, which authenticates the slots, and the number of the
// newest checkpoint that was saved for it. Load refuses older ones. Later saves have higher
// numbers.
func (c *Checkpoint) SetKey(key []byte, newest uint64) { c.slots.setKey(key, newest) }

// Number returns the number of the newest known checkpoint: the last one that was saved,
// the loaded one, or the newest one of the destination. After each Save, the caller must
// record the number at the destination before anything is reclaimed.
func (c *Checkpoint) Number() uint64 { return c.slots.seq }

// runNumbers is how many numbers a process has for its checkpoints. The destination records
// the first number of a process durably. So the checkpoints of a process have higher
// numbers than those of all earlier processes, even if a crash of the node has lost the
// number that the destination recorded last.
const runNumbers = 1 << 32

// BeginRun makes the next Save the first one of this process.
func (c *Checkpoint) BeginRun() { c.slots.seq |= runNumbers - 1 }

// Save writes the checkpoint into the older slot, with the next number. After Save
// returns nil, a restart finds this state; after an error, a restart finds this state
// or the previous one.
//
// [ErrNoRoom] is the exception: a restart then finds no checkpoint, and the segments decide. So
// the caller may still reclaim, in case nothing else can free memory. If a restart could find a
// stale checkpoint, reclaiming would be wrong.
func (c *Checkpoint) Save() error { return c.slots.save(c.encode) }

// encode writes the JSON of the checkpoint value by value. Passing the whole
// checkpoint to an encoder would copy it, and with thousands of files a copy
// takes a megabyte.
func (c *Checkpoint) encode(to *bytes.Buffer, seq uint64) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(state{Seq: seq, Lost: c.Lost, Uncommitted: c.Uncommitted, Withheld: c.Withheld}); err != nil {
		return err
	}
	to.Truncate(to.Len() - len("}\n"))
	to.WriteString(`,"streams":[`)
	var one streamState // one variable for all streams, because what Encode is given escapes to the heap
	comma := ""
	for one.Name, one.Mark = range c.marks {
		to.WriteString(comma)
		if err := enc.Encode(&one); err != nil {
			return err
		}
		comma = ","
	}
	to.WriteString(`],"files":[`)
	var file fileState
	comma = ""
	for file.Content, file.Saved = range c.files {
		to.WriteString(comma)
		if err := enc.Encode(&file); err != nil {
			return err
		}
		comma = ","
	}
	to.WriteString("]}\n")
	return nil
}

// Found is what Load found in the slots at the start.
type Found struct {
	Marked  bool    // there is a valid checkpoint, and its marks are authentic
	Claimed bool    // there is a checkpoint, but no key yet: Unseal verifies its marks
	Begun   bool    // a process once saved a checkpoint, which may be invalid by now
	Invalid []error // why a slot was ignored, see [Reason]
}

// Load reads the newest valid slot. Without a key, Load cannot verify who wrote the newest
// slot: it uses the positions in it, but no marks. It reserves memory for the slots at once,
// while there is room.
func (c *Checkpoint) Load() Found {
	st, found := c.slots.load()
	c.Lost = st.Lost
	for _, f := range st.Files {
		c.files[f.Content] = f.Saved
	}
	if found.Marked {
		c.takeMarks(st)
	}
	return found
}

// Unseal sets the key that Load lacked. If the slot that Load used is authentic and the
// newest, its marks are valid from now on. Otherwise invalid gives the reason; it is nil
// if there was no slot.
func (c *Checkpoint) Unseal(key []byte, newest uint64) (invalid []error) {
	st, marked, invalid := c.slots.unseal(key, newest)
	if marked {
		c.takeMarks(st)
	}
	return invalid
}

func (c *Checkpoint) takeMarks(st state) {
	c.Uncommitted, c.Withheld = st.Uncommitted, st.Withheld
	for _, s := range st.Streams {
		c.marks[s.Name] = s.Mark
	}
}
