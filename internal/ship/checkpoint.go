package ship

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/tail"
)

// A checkpoint slot is one line of text, then as many bytes of JSON:
//
//	ullage-checkpoint 1 <length of the JSON> <HMAC-SHA-256 of it, hex>\n
//
// Whatever follows is what an earlier, longer state left.
const (
	slotHeader   = "ullage-checkpoint 1 %d %64s\n"
	slotMaxBytes = 32 << 20 // more is no checkpoint of ours: 4,096 files take 1 to 4 MiB
	slotReserve  = 32 << 10
)

var slotNames = [2]string{"checkpoint-0", "checkpoint-1"}

// Reasons why a slot was not used; label values of ullage_checkpoint_invalid_total.
var (
	errSlotTorn   = errors.New("torn")
	errSlotForged = errors.New("forged")
	errSlotOther  = errors.New("unreadable")
)

type state struct {
	Seq     uint64        `json:"seq"`
	Streams []streamState `json:"streams"`
	Files   []fileState   `json:"files"`
}

type streamState struct {
	Name string       `json:"name"`
	Mark segment.Mark `json:"mark"`
}

type fileState struct {
	tail.Identity
	Stream string `json:"stream"`
	tail.Position
	Gaps string `json:"gaps,omitempty"`
}

// checkpoint is the pair of slots. Its methods may be called concurrently.
type checkpoint struct {
	key []byte

	mu    sync.Mutex
	dir   *os.File // the state directory; nil while there is none
	slots [2]*os.File
	size  [2]int64 // reserved
	least int64    // to be reserved for each
	seq   uint64
	buf   bytes.Buffer
}

func newCheckpoint() *checkpoint { return &checkpoint{} }

// setKey sets what authenticates the slots. It comes before load and save.
func (c *checkpoint) setKey(key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}

// attach uses the state directory from now on, or none.
func (c *checkpoint) attach(dir *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.slots {
		if f != nil {
			f.Close()
		}
		c.slots[i], c.size[i] = nil, 0
	}
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

// load returns the newest valid state. ok is false when there is none; invalid
// has one error for each slot that is there and is not valid. It reserves
// memory for both at once, while there is room.
func (c *checkpoint) load() (st state, ok bool, invalid []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slotNames {
		got, err := c.read(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			invalid = append(invalid, fmt.Errorf("checkpoint slot %s: %w", name, err))
		case !ok || got.Seq > st.Seq:
			st, ok = got, true
		}
	}
	c.seq = st.Seq
	for slot := range c.slots {
		_ = c.reserve(slot, 0) // save tries again, and has an answer
	}
	return st, ok, invalid
}

func (c *checkpoint) read(name string) (st state, err error) {
	f, err := c.open(name, unix.O_RDONLY)
	if err != nil {
		return st, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return st, fmt.Errorf("%w: stat: %w", errSlotOther, err)
	}
	data := make([]byte, min(info.Size(), slotMaxBytes))
	n, err := f.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return st, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	if n > 0 && data[0] == 0 {
		return st, os.ErrNotExist // reserved, and never written
	}
	line, body, _ := bytes.Cut(data[:n], []byte("\n"))
	var length int
	var sum string
	if _, err := fmt.Sscanf(string(line[:min(len(line), 128)])+"\n", slotHeader, &length, &sum); err != nil || length < 0 || length > len(body) {
		return st, fmt.Errorf("%w: no such header or length", errSlotTorn)
	}
	body = body[:length]
	if want, err := hex.DecodeString(sum); err != nil || !hmac.Equal(want, c.sum(body)) {
		return st, fmt.Errorf("%w: the code does not authenticate it; it was changed, or made for another destination", errSlotForged)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&st); err != nil {
		return st, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	return st, nil
}

func (c *checkpoint) sum(body []byte) []byte {
	m := hmac.New(sha256.New, c.key)
	m.Write(body)
	return m.Sum(nil)
}

// open opens a slot that is a regular file with one name, and nothing else.
func (c *checkpoint) open(name string, flags int) (*os.File, error) {
	if c.dir == nil {
		return nil, fmt.Errorf("open %s: the source is missing: %w", name, os.ErrNotExist)
	}
	fd, err := unix.Openat(int(c.dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0o600)
	if err == unix.ENOENT {
		return nil, os.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("%w: open: %w", errSlotOther, err)
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		f.Close()
		return nil, fmt.Errorf("%w: not a regular file with one name", errSlotOther)
	}
	return f, nil
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

// save writes what current returns into the older slot. When it returns nil, a
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
	slot := int(st.Seq % 2)
	err = c.reserve(slot, int64(len(encoded)))
	if errors.Is(err, unix.ENOSPC) {
		c.drop()
		if err = c.reserve(slot, int64(len(encoded))); errors.Is(err, unix.ENOSPC) {
			c.drop()
			return fmt.Errorf("%w: %w", errNoRoom, err)
		}
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if _, err := c.slots[slot].WriteAt(encoded, 0); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	c.seq = st.Seq
	return nil
}

// headerRoom is more than a header takes.
const headerRoom = 128

// encode returns what a slot holds for st. It is valid until the next call:
// thousands of files take a megabyte, which is not taken anew for each save.
func (c *checkpoint) encode(st state) ([]byte, error) {
	var room [headerRoom]byte
	c.buf.Reset()
	c.buf.Write(room[:])
	enc := json.NewEncoder(&c.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(st); err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	body := c.buf.Bytes()[headerRoom:]
	header := fmt.Appendf(room[:0], slotHeader, len(body), hex.EncodeToString(c.sum(body)))
	all := c.buf.Bytes()[headerRoom-len(header):]
	copy(all, header)
	return all, nil
}

// drop removes both slots.
func (c *checkpoint) drop() {
	for i, f := range c.slots {
		if f != nil {
			f.Close()
		}
		c.slots[i], c.size[i] = nil, 0
		c.displace(slotNames[i])
	}
}

// reserve makes sure that the slot is a file of ours that still has its name,
// with memory for at least n bytes, so that writing them cannot fail on a full
// tmpfs.
func (c *checkpoint) reserve(slot int, n int64) error {
	var st unix.Stat_t
	if f := c.slots[slot]; f != nil && (unix.Fstat(int(f.Fd()), &st) != nil || st.Nlink != 1) {
		f.Close()
		c.slots[slot], c.size[slot] = nil, 0
	}
	if c.slots[slot] == nil {
		f, err := c.open(slotNames[slot], unix.O_RDWR)
		if err != nil {
			c.displace(slotNames[slot])
			f, err = c.open(slotNames[slot], unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
		}
		if err != nil {
			return err
		}
		c.slots[slot] = f
	}
	if want := (n + slotReserve) / slotReserve * slotReserve; want > c.size[slot] {
		// Twice what is needed now, so that growing is rare.
		want = max(2*want, 2*slotReserve+c.least)
		if err := unix.Fallocate(int(c.slots[slot].Fd()), 0, 0, want); err != nil {
			if err != unix.EOPNOTSUPP {
				return fmt.Errorf("reserve %d bytes: %w", want, err)
			}
		}
		c.size[slot] = want
	}
	return nil
}

// displace makes room where something stands that is not a slot. A directory
// that is not empty can only be moved.
func (c *checkpoint) displace(name string) {
	dir := int(c.dir.Fd())
	if unix.Unlinkat(dir, name, 0) != nil && unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) != nil {
		_ = unix.Renameat(dir, name, dir, fmt.Sprintf("displaced-%s-%d", name, time.Now().UnixNano()))
	}
}

// slotReason names the class of an invalid slot for a metric.
func slotReason(err error) string {
	for _, reason := range []error{errSlotTorn, errSlotForged} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return errSlotOther.Error()
}
