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
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/tail"
)

const (
	slotReserve = 32 << 10
	headerRoom  = 128 // more than a header takes

	// More is no checkpoint of ours: 4,096 files take 1 to 4 MiB.
	slotMaxBytes = 32 << 20

	// What nobody has authenticated is bounded before it is decoded: its bytes,
	// its commas, which every value but the first one of a list needs, and how
	// high it can count.
	claimMaxBytes  = 8 << 20
	claimMaxCommas = 128 << 10
	claimMaxSeq    = 1 << 62
)

// slot is what was read of one: its state, and the code of that.
type slot struct {
	state
	code string
}

// newest returns the newest valid one of two slots, nil when there is none; and
// an error for each that is there and is not valid. Without a key a code only
// tells whether the slot is whole. To check nothing is for slots whose key is
// not there yet.
func (c *checkpoint) newest(names [2]string, key []byte, check bool) (found *slot, invalid []error) {
	for _, name := range names {
		got, err := c.read(name, key, check)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			invalid = append(invalid, fmt.Errorf("checkpoint slot %s: %w", name, err))
		case found == nil || got.Seq > found.Seq:
			found = got
		}
	}
	return found, invalid
}

func (c *checkpoint) read(name string, key []byte, check bool) (*slot, error) {
	f, err := tail.OpenOwn(c.dir, name, unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, os.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	defer f.Close()
	s := &slot{}
	begin, length, err := s.readHeader(f)
	if err != nil {
		return nil, err
	}
	authentic := check && key != nil
	body := io.NewSectionReader(f, begin, length)
	// First without taking it into memory: anybody can make a long file.
	if check && !s.matches(key, body) {
		return nil, fmt.Errorf("%w: the code does not authenticate it; it was changed, or made for another destination", errSlotForged)
	}
	if !authentic && length > claimMaxBytes {
		return nil, fmt.Errorf("%w: %d bytes", errSlotOther, length)
	}
	data := make([]byte, length)
	if _, err := body.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	if check && !s.matches(key, bytes.NewReader(data)) {
		return nil, fmt.Errorf("%w: it changes", errSlotForged)
	}
	if !authentic && bytes.Count(data, []byte{','}) > claimMaxCommas {
		return nil, fmt.Errorf("%w: too many values", errSlotOther)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s.state); err != nil {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	if !authentic && s.Seq > claimMaxSeq {
		return nil, fmt.Errorf("%w: number %d", errSlotOther, s.Seq)
	}
	return s, nil
}

// readHeader reads the code, and returns where the JSON is.
func (s *slot) readHeader(f *os.File) (begin, length int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, fmt.Errorf("%w: stat: %w", errSlotOther, err)
	}
	head := make([]byte, headerRoom)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return 0, 0, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	if n > 0 && head[0] == 0 {
		return 0, 0, os.ErrNotExist // reserved, and never written
	}
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	begin = int64(len(line)) + 1
	if _, err := fmt.Sscanf(string(line)+"\n", slotHeader, &length, &s.code); err != nil || length < 0 || length > slotMaxBytes || begin+length > info.Size() {
		return 0, 0, fmt.Errorf("%w: no such header or length", errSlotTorn)
	}
	return begin, length, nil
}

// matches reports whether the code is that of body.
func (s *slot) matches(key []byte, body io.Reader) bool {
	m := hmac.New(sha256.New, key)
	want, err := hex.DecodeString(s.code)
	if _, readErr := io.Copy(m, body); err != nil || readErr != nil {
		return false
	}
	return hmac.Equal(want, m.Sum(nil))
}

func sum(key, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return m.Sum(nil)
}

// load returns the state of the newest valid slot, with the gaps that were
// recorded since without the destination. Marked says that there was such a
// slot, so that its marks count; invalid has one error for each slot that is
// there and is not valid. It reserves memory for the slots at once, while
// there is room.
//
// Without a key the state is what a slot claims, and has no marks: unseal
// decides about them later.
func (c *checkpoint) load() (st state, marked bool, invalid []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keyed := c.key != nil
	found, invalid := c.newest(slotNames, c.key, keyed)
	if found != nil {
		st, marked = found.state, true
	}
	if found != nil && !keyed {
		c.claimed, marked = found.code, false
		st.Streams = nil
	}
	since, _ := c.newest(provisionalNames, nil, true)
	if since != nil && since.Seq > st.Seq {
		st.addGaps(since.Files)
		st.Seq = since.Seq
	}
	c.seq = st.Seq
	for at := range c.slots {
		_ = c.reserve(at, 0) // save tries again, and has an answer
	}
	return st, marked, invalid
}

// addGaps takes in gaps that were recorded without the destination. Nothing
// was committed meanwhile, so they go with the positions of before.
func (st *state) addGaps(files []fileState) {
	at := make(map[tail.Identity]int, len(st.Files))
	for i, f := range st.Files {
		at[f.Identity] = i
	}
	for _, f := range files {
		i, known := at[f.Identity]
		switch {
		case known && st.Files[i].Position == f.Position:
			st.Files[i].Gaps = f.Gaps
		case !known && f.Position == tail.Position{}:
			st.Files = append(st.Files, fileState{Identity: f.Identity, Stream: f.Stream, Gaps: f.Gaps})
		}
	}
}

// unseal takes in the key, which was not there at load. If the slot that load
// took is authentic, it calls marks with those that it has, before anything
// else is saved, and returns true. If there was none, invalid is nil.
func (c *checkpoint) unseal(key []byte, marks func([]streamState)) (marked bool, invalid []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
	c.closeSlots()
	found, invalid := c.newest(slotNames, key, true)
	switch {
	case found != nil && found.code == c.claimed:
		marks(found.Streams)
		marked = true
	case invalid == nil && (found != nil || c.claimed != ""):
		invalid = []error{fmt.Errorf("%w: reading began with another one", errSlotForged)}
	}
	return marked, invalid
}

// drop removes both slots that are in use, and whatever could be taken for
// newer than none.
func (c *checkpoint) drop() {
	c.closeSlots()
	for _, name := range c.names() {
		c.displace(name)
	}
	c.tidy()
}

// tidy removes the provisional slots once there are others: what they say is
// in those now.
func (c *checkpoint) tidy() {
	if c.key == nil || c.tidied {
		return
	}
	c.tidied = true
	for _, name := range provisionalNames {
		_ = unix.Unlinkat(int(c.dir.Fd()), name, 0)
	}
}

// reserve makes sure that the slot is a file of ours that still has its name,
// with memory for at least n bytes, so that writing them cannot fail on a full
// tmpfs.
func (c *checkpoint) reserve(at int, n int64) error {
	var st unix.Stat_t
	if f := c.slots[at]; f != nil && (unix.Fstat(int(f.Fd()), &st) != nil || st.Nlink != 1) {
		f.Close()
		c.slots[at], c.size[at] = nil, 0
	}
	if c.slots[at] == nil {
		name := c.names()[at]
		f, err := tail.OpenOwn(c.dir, name, unix.O_RDWR)
		if err != nil {
			c.displace(name)
			f, err = tail.OpenOwn(c.dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
		}
		if err != nil {
			return err
		}
		c.slots[at] = f
	}
	if want := (n + slotReserve) / slotReserve * slotReserve; want > c.size[at] {
		// Twice what is needed now, so that growing is rare.
		want = max(2*want, 2*slotReserve+c.least)
		if err := unix.Fallocate(int(c.slots[at].Fd()), 0, 0, want); err != nil {
			if err != unix.EOPNOTSUPP {
				return fmt.Errorf("reserve %d bytes: %w", want, err)
			}
		}
		c.size[at] = want
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
