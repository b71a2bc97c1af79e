package ship

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/statedir"
	"github.com/ullage/ullage/internal/tail"
)

// A checkpoint slot is one line of text, then as many bytes of JSON:
//
//	ullage-checkpoint 1 <length of the JSON> <HMAC-SHA-256 of it, hex> for <name of the key>\n
//
// Whatever follows is what an earlier, longer state left. The name of the key
// tells which destination the checkpoint was made for. It proves nothing, may be
// missing, and is used to say what has happened where the code is not ours.
const (
	slotHeader = "ullage-checkpoint 1 %d %64s\n"
	slotFor    = " for "
)

// slotNames are those of the checkpoint. While the destination has not told the
// key, what is dropped is recorded in provisional ones, whose code is made with
// no key: anybody could write them. They can hold gaps of what is not
// committed, and nothing else of them is used.
var (
	slotNames        = [2]string{"checkpoint-0", "checkpoint-1"}
	provisionalNames = [2]string{"provisional-0", "provisional-1"}
)

// markName is an empty file beside the slots. The checkpoint creates it after it
// has saved the first slot and before the writer appends anything, so a source
// without this file is new. The directory alone says nothing, because other
// parts of the sidecar create it too.
const markName = "checkpointed"

// Reasons why a slot was not used; label values of ullage_checkpoint_invalid_total.
var (
	errSlotTorn   = errors.New("torn")
	errSlotForged = errors.New("forged")
	errSlotMoved  = errors.New("other_destination")
	errSlotOther  = errors.New("unreadable")
)

type state struct {
	Seq  uint64 `json:"seq"`
	Lost bool   `json:"lost,omitempty"` // the one before was lost, and the source is not yet aligned with the segments
	// Uncommitted is the most that can be on disk behind a mark, by the settings
	// of the process that appends there: those of the next one may be others.
	Uncommitted int64         `json:"uncommitted,omitempty"`
	Streams     []streamState `json:"streams,omitempty"`
	Files       []fileState   `json:"files,omitempty"`
}

type streamState struct {
	Name string       `json:"name"`
	Mark segment.Mark `json:"mark"`
}

type fileState struct {
	position.Identity
	Stream string `json:"stream"`
	position.Position
	Gaps string `json:"gaps,omitempty"`
	Anew string `json:"-"` // gaps of what a file has since it was truncated
}

// checkpoint is the pair of slots. Its methods may be called concurrently.
type checkpoint struct {
	mu      sync.Mutex
	key     []byte   // nil while the destination has not told it
	claimed string   // the code of the slot that load took without the key; empty: it took none
	dir     *os.File // the state directory; nil while there is none
	slots   [2]*os.File
	next    int      // the slot to be written, since the other one is newer
	size    [2]int64 // reserved
	least   int64    // to be reserved for each
	tidied  bool     // no provisional slot is left
	begun   bool     // markName is there
	seq     uint64
	buf     bytes.Buffer
}

func newCheckpoint() *checkpoint { return &checkpoint{} }

// setKey sets what authenticates the slots.
func (c *checkpoint) setKey(key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}

// names returns the slots that are in use.
func (c *checkpoint) names() [2]string {
	if c.key == nil {
		return provisionalNames
	}
	return slotNames
}

// closeSlots closes the slots that are open.
func (c *checkpoint) closeSlots() {
	for i, f := range c.slots {
		if f != nil {
			f.Close()
		}
		c.slots[i], c.size[i] = nil, 0
	}
}

// attach uses the state directory from now on, or none.
func (c *checkpoint) attach(dir *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeSlots()
	c.tidied, c.begun = false, false
	if c.dir != nil {
		c.dir.Close()
		c.dir = nil
	}
	if dir == nil {
		return
	}
	// A descriptor of its own: it stays good where the source moves away.
	if fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		c.dir = os.NewFile(uintptr(fd), dir.Name())
	}
}

// removed reports whether the directory was deleted, and the slots with it.
func (c *checkpoint) removed() bool {
	var st unix.Stat_t
	return c.dir == nil || unix.Fstat(int(c.dir.Fd()), &st) == nil && st.Nlink == 0
}

// errNoRoom says that the source has no room for a checkpoint.
var errNoRoom = errors.New("the source has no room for the checkpoint")

// reserveGaps makes the slots large enough for so many gaps, so that what is
// dropped can be recorded on a full tmpfs as well.
func (c *checkpoint) reserveGaps(gaps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.least = int64(gaps) * tail.GapBytes
}

// save writes what current returns into the older slot of those in use. When it returns nil, a
// restart finds this state; when it fails, a restart finds this one or the one
// before. Both loops may save, so the state is taken once it is this one's
// turn: a slot never goes back behind the one before.
//
// errNoRoom is the exception: a restart then finds none at all, and lets the
// segments decide. That is what allows to reclaim nevertheless, where nothing
// else could make room: a stale checkpoint would be a wrong one.
func (c *checkpoint) save(current func() state) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removed() {
		// No stale slot is left either: a restart lets the segments decide.
		return nil
	}
	st := current()
	st.Seq = c.seq + 1
	encoded, err := c.encode(st)
	if err != nil {
		return err
	}
	at := c.next
	err = c.reserve(at, int64(len(encoded)))
	if errors.Is(err, unix.ENOSPC) {
		c.drop()
		if err = c.reserve(at, int64(len(encoded))); errors.Is(err, unix.ENOSPC) {
			c.drop()
			c.begin()
			return fmt.Errorf("%w: %w", errNoRoom, err)
		}
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if _, err := c.slots[at].WriteAt(encoded, 0); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	c.seq, c.next = st.Seq, 1-at
	c.begin()
	c.tidy()
	return nil
}

// begin creates markName. If it did so before the first slot is saved, a kill
// between the two would make the next start miss a checkpoint that never was.
// Without the key nothing is appended, so nothing can be lost yet.
func (c *checkpoint) begin() {
	if c.begun || c.key == nil {
		return
	}
	f, err := statedir.OpenFile(c.dir, markName, unix.O_WRONLY|unix.O_CREAT)
	if err == nil {
		f.Close()
	}
	c.begun = c.hasMark()
}

// hasMark reports whether there was a checkpoint.
func (c *checkpoint) hasMark() bool {
	var st unix.Stat_t
	return unix.Fstatat(int(c.dir.Fd()), markName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// encode returns what a slot holds for st. It is valid until the next call:
// thousands of files take a megabyte, which is not taken anew for each save.
func (c *checkpoint) encode(st state) ([]byte, error) {
	var room [headerRoom]byte
	c.buf.Reset()
	c.buf.Write(room[:])
	if err := st.encode(&c.buf); err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	body := c.buf.Bytes()[headerRoom:]
	header := fmt.Appendf(room[:0], slotHeader, len(body), hex.EncodeToString(sum(c.key, body)))
	header = fmt.Appendf(bytes.TrimSuffix(header, []byte("\n")), "%s%s\n", slotFor, keyName(c.key))
	all := c.buf.Bytes()[headerRoom-len(header):]
	copy(all, header)
	return all, nil
}

// encode writes the JSON of st, list by list and value by value: an encoder that
// is given all of it makes a second copy, of a megabyte for thousands of files.
func (st state) encode(to *bytes.Buffer) error {
	streams, files := st.Streams, st.Files
	st.Streams, st.Files = nil, nil
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(st); err != nil {
		return err
	}
	to.Truncate(to.Len() - len("}\n"))
	to.WriteString(`,"streams":[`)
	if err := encodeList(to, enc, streams); err != nil {
		return err
	}
	to.WriteString(`],"files":[`)
	if err := encodeList(to, enc, files); err != nil {
		return err
	}
	to.WriteString("]}\n")
	return nil
}

func encodeList[T any](to *bytes.Buffer, enc *json.Encoder, list []T) error {
	for i := range list {
		if i > 0 {
			to.WriteByte(',')
		}
		if err := enc.Encode(&list[i]); err != nil {
			return err
		}
	}
	return nil
}
