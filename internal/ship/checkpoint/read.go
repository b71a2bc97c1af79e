package checkpoint

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

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/segment"
)

const (
	// Bounds on a slot. 4,096 files take 1 to 4 MiB, so ullage writes nothing larger.
	slotMaxBytes  = 32 << 20
	claimMaxBytes = 4 << 20

	mostFiles = 16 << 10 // the most files, and the most streams, in a slot
)

// The reasons why a slot was ignored.
var (
	errSlotTorn   = errors.New("torn")
	errSlotForged = errors.New("forged")
	errSlotMoved  = errors.New("other_destination")
	errSlotStale  = errors.New("stale")
	errSlotOther  = errors.New("unreadable")
)

// Reason names the class of one of the errors in [Found] for a metric label:
// torn, forged, other_destination, stale or unreadable.
func Reason(err error) string {
	for _, reason := range []error{errSlotTorn, errSlotForged, errSlotMoved, errSlotStale} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return errSlotOther.Error()
}

// slot is the content of one slot: a state and its HMAC.
type slot struct {
	state
	at   int // its index in the pair
	code string
	key  string // the name of the key that the slot claims
}

// find returns the newest valid slot, or nil if there is none, and an error for each slot
// that exists and is not valid. Without the key, every slot with the right form is valid.
// With the key, a slot is invalid if a newer one was saved after it: the application has
// then put the slot back, or has damaged the newer one. While the newest slot is valid, find
// does not report that the other slot is stale, because one slot of the pair is always older.
func (s *slots) find() (found *slot, invalid []error) {
	var stale []error
	for at, name := range slotNames {
		got, err := s.read(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			invalid = append(invalid, fmt.Errorf("checkpoint slot %s: %w", name, err))
		case s.key != nil && got.Seq < s.newest:
			stale = append(stale, fmt.Errorf("checkpoint slot %s: %w: its number is %d, but checkpoint %d was saved later", name, errSlotStale, got.Seq, s.newest))
		case found == nil || got.Seq > found.Seq:
			got.at = at
			found = got
		}
	}
	if found == nil {
		invalid = append(invalid, stale...)
	}
	return found, invalid
}

func (s *slots) read(name string) (*slot, error) {
	f, err := statedir.OpenFile(s.dir, name, unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, os.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	defer f.Close()
	got := &slot{}
	begin, length, err := got.readHeader(f)
	if err != nil {
		return nil, err
	}
	most := int64(slotMaxBytes)
	if s.key == nil {
		most = claimMaxBytes
	}
	body := io.NewSectionReader(f, begin, length)
	// Check the HMAC and the size before reading the file into memory: any process can
	// write a long file.
	if !s.matches(got.code, body) {
		return nil, s.unauthentic(got)
	}
	if length > most {
		return nil, fmt.Errorf("%w: %d bytes", errSlotOther, length)
	}
	data := make([]byte, length)
	if _, err := body.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	if !s.matches(got.code, bytes.NewReader(data)) {
		return nil, fmt.Errorf("%w: it changed while it was read", errSlotForged)
	}
	if err := got.decode(data); err != nil {
		return nil, fmt.Errorf("%w: %w", errSlotOther, err)
	}
	return got, nil
}

// decode parses the JSON of a slot list by list, so that it never uses more memory than the
// bounds of the lists allow.
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
		case "withheld":
			if err = dec.Decode(&s.Withheld); err == nil {
				err = s.Withheld.check()
			}
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
			s.Files[i].Stream = "" // the file's name determines the stream
		}
	}
	return nil
}

func decodeList[T any](dec *json.Decoder) (list []T, err error) {
	if begin, err := dec.Token(); err != nil || begin == nil {
		return nil, err // null means an empty list
	} else if begin != json.Delim('[') {
		return nil, fmt.Errorf("got %v, want a list", begin)
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
		return fmt.Errorf("found %v instead of %q: %w", got, want, err)
	}
	return nil
}

// readHeader reads the HMAC and returns the offset and the length of the JSON.
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
		return 0, 0, os.ErrNotExist // reserved and never written
	}
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	begin = int64(len(line)) + 1
	text, key, _ := strings.Cut(string(line), slotFor)
	s.key = key
	if _, err := fmt.Sscanf(text+"\n", slotHeader, &length, &s.code); err != nil || length < 0 || length > slotMaxBytes || begin+length > info.Size() {
		return 0, 0, fmt.Errorf("%w: invalid header or length", errSlotTorn)
	}
	return begin, length, nil
}

// matches reports whether code is the HMAC of body. Without the key, it accepts
// any code.
func (s *slots) matches(code string, body io.Reader) bool {
	if s.key == nil {
		return true
	}
	m := hmac.New(sha256.New, s.key)
	want, err := hex.DecodeString(code)
	if _, readErr := io.Copy(m, body); err != nil || readErr != nil {
		return false
	}
	return hmac.Equal(want, m.Sum(nil))
}

// unauthentic returns why a slot may have a different HMAC.
func (s *slots) unauthentic(got *slot) error {
	if got.key != "" && got.key != keyName(s.key) {
		return fmt.Errorf("%w: it was made for another destination: --dest was changed, another volume is mounted there, or the key was replaced", errSlotMoved)
	}
	return fmt.Errorf("%w: another process changed it", errSlotForged)
}

// keyName returns a name for a key. The name does not reveal the key.
func keyName(key []byte) string { return hex.EncodeToString(sum(key, []byte("name"))[:8]) }

func sum(key, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return m.Sum(nil)
}

// load returns the state of the newest valid slot.
func (s *slots) load() (st state, found Found) {
	got, invalid := s.find()
	found.Invalid = invalid
	if got != nil {
		st, s.next, s.seq = got.state, 1-got.at, max(got.Seq, s.newest)
		if found.Marked = s.key != nil; !found.Marked {
			found.Claimed, s.claimed = true, got.code
		}
	}
	s.begun = s.hasMark()
	found.Begun = s.begun || len(invalid) > 0
	for at := range s.files {
		_ = s.reserve(at, 0) // save retries and reports the error
	}
	return st, found
}

// unseal sets the key that load lacked and returns the state of the newest authentic
// slot. The state is marked if load used that slot.
func (s *slots) unseal(key []byte, newest uint64) (st state, marked bool, invalid []error) {
	s.next, s.seq = 0, 0 // forget the unverified number: any process could have written it
	s.setKey(key, newest)
	got, invalid := s.find()
	if got != nil {
		s.next, s.seq = 1-got.at, max(got.Seq, newest)
		st, marked = got.state, got.code == s.claimed
	}
	if !marked && invalid == nil && (got != nil || s.claimed != "") {
		invalid = []error{fmt.Errorf("%w: reading began with a different slot", errSlotForged)}
	}
	return st, marked, invalid
}
