package checkpoint

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
)

const (
	slotHeader = "ullage-checkpoint 1 %d %64s\n"
	slotFor    = " for "

	slotReserve = 32 << 10
	headerRoom  = 128 // more than any header needs
)

var slotNames = [2]string{"checkpoint-0", "checkpoint-1"}

// markName is an empty file, which records that there once was a checkpoint. The state
// directory itself proves nothing, because other parts of the sidecar also create it.
const markName = "checkpointed"

type state struct {
	Seq  uint64 `json:"seq"`
	Lost bool   `json:"lost,omitempty"`
	// Uncommitted is the largest number of bytes that can be on disk after a mark.
	Uncommitted int64         `json:"uncommitted,omitempty"`
	Withheld    Withheld      `json:"withheld,omitzero"`
	Streams     []streamState `json:"streams,omitempty"`
	Files       []fileState   `json:"files,omitempty"`
}

type streamState struct {
	Name string       `json:"name"`
	Mark segment.Mark `json:"mark"`
}

type fileState struct {
	position.Content
	position.Saved
}

// slots are the pair of files.
type slots struct {
	key     []byte   // nil: not known yet
	claimed string   // the HMAC of the slot that load used without the key; empty: none
	dir     *os.File // the state directory; nil: none
	files   [2]*os.File
	next    int      // the slot to write next; the other one is newer
	size    [2]int64 // the sizes of the reserved memory
	begun   bool     // markName exists
	seq     uint64   // the highest number, see Checkpoint.Number
	newest  uint64   // the number at the destination; a slot with a lower one is stale
	buf     bytes.Buffer
}

func (s *slots) close() {
	for i, f := range s.files {
		if f != nil {
			f.Close()
		}
		s.files[i], s.size[i] = nil, 0
	}
}

// attach sets the state directory; nil means none.
func (s *slots) attach(dir *os.File) {
	s.close()
	s.begun = false
	if s.dir != nil {
		s.dir.Close()
	}
	s.dir = statedir.Dup(dir)
}

// removed reports whether the directory and its slots were deleted.
func (s *slots) removed() bool {
	var st unix.Stat_t
	return s.dir == nil || unix.Fstat(int(s.dir.Fd()), &st) == nil && st.Nlink == 0
}

// ErrNoRoom reports that the tmpfs of the source has no room for a checkpoint.
var ErrNoRoom = errors.New("the source has no room for the checkpoint")

// setKey sets the destination's key and the number of its newest checkpoint.
func (s *slots) setKey(key []byte, newest uint64) {
	s.key, s.newest = key, newest
	s.seq = max(s.seq, newest)
}

// save writes the output of encode into the older slot, with the next number. The number is
// used up even if saving the slot fails: a copy of an older slot must be stale.
func (s *slots) save(encode func(to *bytes.Buffer, seq uint64) error) error {
	s.seq++
	if s.removed() {
		// No slot is left, not even a stale one: after a restart, the segments decide.
		return nil
	}
	encoded, err := s.encode(encode)
	if err != nil {
		return err
	}
	at := s.next
	err = s.reserve(at, int64(len(encoded)))
	if errors.Is(err, unix.ENOSPC) {
		s.drop()
		if err = s.reserve(at, int64(len(encoded))); errors.Is(err, unix.ENOSPC) {
			s.drop()
			s.begin()
			return fmt.Errorf("%w: %w", ErrNoRoom, err)
		}
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if _, err := s.files[at].WriteAt(encoded, 0); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	s.next = 1 - at
	s.begin()
	return nil
}

// begin creates markName. It must not do so before the first slot is saved. Otherwise, after a
// kill in between, the next start would report the loss of a checkpoint that never existed.
func (s *slots) begin() {
	if s.begun {
		return
	}
	f, err := statedir.OpenFile(s.dir, markName, unix.O_WRONLY|unix.O_CREAT)
	if err == nil {
		f.Close()
	}
	s.begun = s.hasMark()
}

// hasMark reports whether there was a checkpoint.
func (s *slots) hasMark() bool {
	var st unix.Stat_t
	return s.dir != nil && unix.Fstatat(int(s.dir.Fd()), markName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// encode returns the content of a slot. It is valid until the next call: with thousands of
// files, it takes a megabyte, which encode does not allocate for every save.
func (s *slots) encode(encode func(to *bytes.Buffer, seq uint64) error) ([]byte, error) {
	var room [headerRoom]byte
	s.buf.Reset()
	s.buf.Write(room[:])
	if err := encode(&s.buf, s.seq); err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	body := s.buf.Bytes()[headerRoom:]
	header := fmt.Appendf(room[:0], slotHeader, len(body), hex.EncodeToString(sum(s.key, body)))
	header = fmt.Appendf(bytes.TrimSuffix(header, []byte("\n")), "%s%s\n", slotFor, keyName(s.key))
	all := s.buf.Bytes()[headerRoom-len(header):]
	copy(all, header)
	return all, nil
}

// drop removes both slots.
func (s *slots) drop() {
	s.close()
	for _, name := range slotNames {
		statedir.Displace(s.dir, name)
	}
}

// reserve makes sure that the slot is a regular file that still has its name,
// with memory for at least n bytes, so that a write cannot fail on a full
// tmpfs.
func (s *slots) reserve(at int, n int64) error {
	var st unix.Stat_t
	if f := s.files[at]; f != nil && (unix.Fstat(int(f.Fd()), &st) != nil || st.Nlink != 1) {
		f.Close()
		s.files[at], s.size[at] = nil, 0
	}
	if s.files[at] == nil {
		name := slotNames[at]
		f, err := statedir.OpenFile(s.dir, name, unix.O_RDWR)
		if err != nil && s.dir != nil && !statedir.Transient(err) {
			statedir.Displace(s.dir, name)
			f, err = statedir.OpenFile(s.dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
		}
		if err != nil {
			return err
		}
		s.files[at] = f
	}
	if want := (n + slotReserve) / slotReserve * slotReserve; want > s.size[at] {
		// Reserve twice the current need, so that slots rarely grow.
		want = max(2*want, 2*slotReserve)
		if err := unix.Fallocate(int(s.files[at].Fd()), 0, 0, want); err != nil && err != unix.EOPNOTSUPP {
			return fmt.Errorf("reserve %d bytes: %w", want, err)
		}
		s.size[at] = want
	}
	return nil
}
