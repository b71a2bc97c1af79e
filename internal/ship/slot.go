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
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/statedir"
)

const (
	slotReserve = 32 << 10
	headerRoom  = 128 // more than a header takes

	// More is no checkpoint of ours: 4,096 files take 1 to 4 MiB, and the gaps
	// of a provisional one half of one.
	slotMaxBytes  = 32 << 20
	claimMaxBytes = 4 << 20
	sinceMaxBytes = 2 << 20

	mostFiles = 16 << 10 // in a slot, and as many streams
	mostSaves = 1 << 32  // of one process that waits for the destination
)

// slot is what was read of one: its state, and the code of that.
type slot struct {
	state
	at   int // its place in the pair
	code string
	key  string // the name of the one that the code was made with, as it says
}

// trust is what is known of a slot before it is read.
type trust int

const (
	authentic trust = iota // if the code is that of the key
	whole                  // if the code is that of no key: anybody could write it
	claimed                // nothing: the key is not there yet
)

func (t trust) maxBytes() int64 {
	return [...]int64{authentic: slotMaxBytes, whole: sinceMaxBytes, claimed: claimMaxBytes}[t]
}

// newest returns the newest valid one of two slots, nil when there is none; and
// an error for each that is there and is not valid.
func (c *checkpoint) newest(names [2]string, t trust) (found *slot, invalid []error) {
	for at, name := range names {
		got, err := c.read(name, t)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			invalid = append(invalid, fmt.Errorf("checkpoint slot %s: %w", name, err))
		case found == nil || got.Seq > found.Seq:
			got.at = at
			found = got
		}
	}
	return found, invalid
}

func (c *checkpoint) read(name string, t trust) (*slot, error) {
	f, err := statedir.OpenFile(c.dir, name, unix.O_RDONLY)
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
	body := io.NewSectionReader(f, begin, length)
	// First without taking it into memory: anybody can make a long file.
	if t != claimed && !c.matches(s.code, t, body) {
		return nil, c.unauthentic(s)
	}
	if length > t.maxBytes() {
		return nil, fmt.Errorf("%w: %d bytes", errSlotOther, length)
	}
	data := make([]byte, length)
	if _, err := body.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	if t != claimed && !c.matches(s.code, t, bytes.NewReader(data)) {
		return nil, fmt.Errorf("%w: it changes", errSlotForged)
	}
	if err := s.decode(data); err != nil {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	return s, nil
}

// decode reads the JSON of a slot, list by list, so that it never takes more
// memory than the lists may have.
func (s *slot) decode(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := expect(dec, json.Delim('{')); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		switch name {
		case "seq":
			err = dec.Decode(&s.Seq)
		case "lost":
			err = dec.Decode(&s.Lost)
		case "uncommitted":
			err = dec.Decode(&s.Uncommitted)
		case "streams":
			s.Streams, err = decodeList[streamState](dec)
		case "files":
			s.Files, err = decodeList[fileState](dec)
		default:
			err = fmt.Errorf("unknown field %q", name)
		}
		if err != nil {
			return err
		}
	}
	if err := expect(dec, json.Delim('}')); err != nil {
		return err
	}
	for i := range s.Files {
		if segment.ValidStream(s.Files[i].Stream) != nil {
			s.Files[i].Stream = "" // what the file's name says
		}
	}
	return nil
}

func decodeList[T any](dec *json.Decoder) (list []T, err error) {
	if begin, err := dec.Token(); err != nil || begin == nil {
		return nil, err // null is an empty one
	} else if begin != json.Delim('[') {
		return nil, fmt.Errorf("%v in the place of a list", begin)
	}
	for dec.More() {
		if len(list) == mostFiles {
			return nil, errors.New("too many values")
		}
		var v T
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, expect(dec, json.Delim(']'))
}

func expect(dec *json.Decoder, want json.Delim) error {
	if got, err := dec.Token(); err != nil || got != want {
		return fmt.Errorf("%v in the place of %q: %w", got, want, err)
	}
	return nil
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
	text, key, _ := strings.Cut(string(line), slotFor)
	s.key = key
	if _, err := fmt.Sscanf(text+"\n", slotHeader, &length, &s.code); err != nil || length < 0 || length > slotMaxBytes || begin+length > info.Size() {
		return 0, 0, fmt.Errorf("%w: no such header or length", errSlotTorn)
	}
	return begin, length, nil
}

// matches reports whether the code is that of body.
func (c *checkpoint) matches(code string, t trust, body io.Reader) bool {
	var key []byte
	if t == authentic {
		key = c.key
	}
	m := hmac.New(sha256.New, key)
	want, err := hex.DecodeString(code)
	if _, readErr := io.Copy(m, body); err != nil || readErr != nil {
		return false
	}
	return hmac.Equal(want, m.Sum(nil))
}

// unauthentic says of a slot that has not our code what has happened to it.
func (c *checkpoint) unauthentic(s *slot) error {
	if s.key != "" && s.key != keyName(c.key) {
		return fmt.Errorf("%w: it was made for another destination: --dest was changed, another volume is mounted there, or the key was replaced", errSlotMoved)
	}
	return fmt.Errorf("%w: another process changed it", errSlotForged)
}

// keyName names a key without telling it.
func keyName(key []byte) string { return hex.EncodeToString(sum(key, []byte("name"))[:8]) }

func sum(key, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return m.Sum(nil)
}

// loaded is what the slots say at a start.
type loaded struct {
	state
	marked  bool // there was a valid checkpoint, so that its marks count
	claimed bool // there is one, and no key yet: it has no marks, and unseal decides about them
	since   bool // something was recorded since, without the destination
	begun   bool // there was a checkpoint, whatever is left of it
	invalid []error
}

// load returns the state of the newest valid slot, with the gaps that were
// recorded since without the destination. It reserves memory for the slots at
// once, while there is room.
func (c *checkpoint) load() (l loaded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := authentic
	if c.key == nil {
		t = claimed
	}
	found, invalid := c.newest(slotNames, t)
	l.invalid = invalid
	if found != nil {
		l.state, l.marked, l.claimed = found.state, t == authentic, t == claimed
		c.next = 1 - found.at
	}
	if l.claimed {
		c.claimed, l.Streams, l.Uncommitted = found.code, nil, 0
	}
	since, _ := c.newest(provisionalNames, whole)
	if since != nil && since.Seq > l.Seq && since.Seq-l.Seq <= mostSaves {
		l.addGaps(since.Files)
		l.Seq, l.Lost, l.since = since.Seq, l.Lost || since.Lost, true
	}
	if t == claimed && l.since {
		c.next = 1 - since.at
	}
	c.seq = l.Seq
	c.begun = c.hasMark()
	l.begun = c.begun || len(invalid) > 0
	for at := range c.slots {
		_ = c.reserve(at, 0) // save tries again, and has an answer
	}
	return l
}

// addGaps takes in gaps that were recorded without the destination. Nothing
// was committed meanwhile, so they go with the positions of before, or with the
// beginning of a file that was truncated.
func (st *state) addGaps(files []fileState) {
	at := make(map[position.Identity]int, len(st.Files))
	for i, f := range st.Files {
		at[f.Identity] = i
	}
	for _, f := range files {
		i, known := at[f.Identity]
		switch {
		case known && st.Files[i].Position == f.Position:
			st.Files[i].Gaps = f.Gaps
		case f.Position != position.Position{}:
		case known:
			st.Files[i].Anew = f.Gaps
		default:
			st.Files = append(st.Files, fileState{Identity: f.Identity, Stream: f.Stream, Gaps: f.Gaps})
		}
	}
}

// unseal takes in the key, which was not there at load. If the slot that load
// took is authentic, it calls marks with its state, before anything else is
// saved, and returns true. If there was none, invalid is nil.
func (c *checkpoint) unseal(key []byte, marks func(state)) (marked bool, invalid []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key, c.next = key, 0
	c.closeSlots()
	found, invalid := c.newest(slotNames, authentic)
	if found != nil {
		c.next = 1 - found.at
	}
	switch {
	case found != nil && found.code == c.claimed:
		marks(found.state)
		return true, invalid
	case found != nil:
		c.seq = found.Seq // and not what somebody has claimed
	case c.claimed != "":
		c.seq = 0
	}
	if invalid == nil && (found != nil || c.claimed != "") {
		invalid = []error{fmt.Errorf("%w: reading began with another one", errSlotForged)}
	}
	return false, invalid
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
		f, err := statedir.OpenFile(c.dir, name, unix.O_RDWR)
		if err != nil {
			c.displace(name)
			f, err = statedir.OpenFile(c.dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
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
	for _, reason := range []error{errSlotTorn, errSlotForged, errSlotMoved} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return errSlotOther.Error()
}
