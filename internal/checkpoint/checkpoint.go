package checkpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
)

// Checkpoint is what is committed, and the slots that a restart reads it from.
// Create it with [New]. Nothing is saved before [Checkpoint.Attach] and
// [Checkpoint.SetKey], and then by [Checkpoint.Save] alone.
type Checkpoint struct {
	slots       slots
	lost        bool
	uncommitted int64
	marks       map[string]segment.Mark
	files       map[position.Content]position.Saved
}

// New returns an empty checkpoint without slots.
func New() *Checkpoint {
	return &Checkpoint{marks: map[string]segment.Mark{}, files: map[position.Content]position.Saved{}}
}

// Lost reports whether an earlier checkpoint was lost, and the source is not
// aligned with the segments yet.
func (c *Checkpoint) Lost() bool { return c.lost }

// SetLost sets what Lost returns.
func (c *Checkpoint) SetLost(lost bool) { c.lost = lost }

// Uncommitted returns how many bytes there can be behind a mark, by the settings
// of the process that appended them: those of this one may be others.
func (c *Checkpoint) Uncommitted() int64 { return c.uncommitted }

// SetUncommitted notes how many bytes there can be behind a mark from now on.
func (c *Checkpoint) SetUncommitted(most int64) { c.uncommitted = most }

// Mark returns where a stream's committed segments end.
func (c *Checkpoint) Mark(stream string) (m segment.Mark, ok bool) {
	m, ok = c.marks[stream]
	return m, ok
}

// SetMark notes where a stream's committed segments end. It has to be saved
// before the first append behind it: without it, a restart could not tell what
// was appended and never committed.
func (c *Checkpoint) SetMark(stream string, m segment.Mark) { c.marks[stream] = m }

// Streams returns the names of the streams that have a mark.
func (c *Checkpoint) Streams() []string { return slices.Collect(maps.Keys(c.marks)) }

// SetFile notes how far a content is durable. What is set of marks and contents
// between two calls of Save is saved together or not at all.
func (c *Checkpoint) SetFile(of position.Content, saved position.Saved) { c.files[of] = saved }

// Meet notes to which stream a content belongs, and reports whether that is
// news. It has to be saved before the first append of the content.
func (c *Checkpoint) Meet(of position.Content, stream string) (news bool) {
	if _, known := c.files[of]; known {
		return false
	}
	c.files[of] = position.Saved{Stream: stream}
	return true
}

// Add adds positions that are not in the checkpoint. Those that are may have
// moved since.
func (c *Checkpoint) Add(files map[position.Content]position.Saved) {
	for of, saved := range files {
		if _, known := c.files[of]; !known {
			c.files[of] = saved
		}
	}
}

// Forget takes out contents that are gone.
func (c *Checkpoint) Forget(gone []position.Content) {
	for _, of := range gone {
		delete(c.files, of)
	}
}

// Files returns the position of each content. It remains the Checkpoint's.
func (c *Checkpoint) Files() map[position.Content]position.Saved { return c.files }

// SetFiles sets all positions at once. The Checkpoint owns files from now on.
func (c *Checkpoint) SetFiles(files map[position.Content]position.Saved) { c.files = files }

// ForgetIdle takes out the streams that have no files left, if they are more
// than most, and returns their names. Those to keep stay: there may be
// uncommitted bytes behind their marks.
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
	}
	return idle
}

// Attach uses the state directory from now on, or with nil none. It keeps a
// descriptor of its own.
func (c *Checkpoint) Attach(dir *os.File) { c.slots.attach(dir) }

// SetKey sets what authenticates the slots.
func (c *Checkpoint) SetKey(key []byte) { c.slots.key = key }

// Save writes the checkpoint into the older slot. When it returns nil, a restart
// finds this state; when it fails, a restart finds this one or the one before.
//
// [ErrNoRoom] is the exception: a restart then finds none at all, and lets the
// segments decide. That is what allows to reclaim nevertheless, where nothing
// else could make room: a stale checkpoint would be a wrong one.
func (c *Checkpoint) Save() error { return c.slots.save(c.encode) }

// encode writes the JSON of the checkpoint, value by value: an encoder that is
// given all of it makes a second copy, of a megabyte for thousands of files.
func (c *Checkpoint) encode(to *bytes.Buffer, seq uint64) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(state{Seq: seq, Lost: c.lost, Uncommitted: c.uncommitted}); err != nil {
		return err
	}
	to.Truncate(to.Len() - len("}\n"))
	to.WriteString(`,"streams":[`)
	var one streamState // escapes once, and not for each value
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

// Found is what the slots said at a start.
type Found struct {
	Marked  bool    // there was a valid checkpoint, and its marks count
	Claimed bool    // there is one, and no key yet: Unseal decides about its marks
	Begun   bool    // there was a checkpoint once, whatever is left of it
	Invalid []error // why a slot does not count, see [Reason]
}

// Load reads the newest valid slot. Without a key it uses the positions of
// the newest one, whoever wrote it, and no marks. It reserves memory for the
// slots at once, while there is room.
func (c *Checkpoint) Load() Found {
	st, found := c.slots.load()
	c.lost = st.Lost
	for _, f := range st.Files {
		c.files[f.Content] = f.Saved
	}
	if found.Marked {
		c.takeMarks(st)
	}
	return found
}

// Unseal sets the key, which was not known at Load. If the slot that Load
// read is authentic, its marks count from now on. Otherwise invalid says why
// not; it is nil if there was no slot.
func (c *Checkpoint) Unseal(key []byte) (invalid []error) {
	st, marked, invalid := c.slots.unseal(key)
	if marked {
		c.takeMarks(st)
	}
	return invalid
}

func (c *Checkpoint) takeMarks(st state) {
	c.uncommitted = st.Uncommitted
	for _, s := range st.Streams {
		c.marks[s.Name] = s.Mark
	}
}
