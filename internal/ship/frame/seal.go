package frame

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// Seals distinguish bytes that this process has written to a log from bytes that another
// process has put in their place. Bytes that match their seal are trusted without being
// decompressed. Another writer of the file cannot make bytes that match: the hash has a key
// that never leaves the process. The zero value has no seals.
type Seals struct {
	key maphash.Seed // key of all seals
	all []seal       // in ascending order of their offsets
}

// seal is the hash of the bytes at an offset.
type seal struct {
	at  int64
	sum uint64
}

// maxSeals bounds the memory for seals to 64 KiB. Bytes whose seal was forgotten have to be
// decompressed.
const maxSeals = 4096

// Add adds a seal for the bytes at an offset, which are the last bytes of the log.
func (s *Seals) Add(at int64, b []byte) {
	if s.all == nil {
		s.key = maphash.MakeSeed()
	}
	i, _ := s.find(at)
	if s.all = s.all[:i]; len(s.all) == maxSeals {
		s.all = slices.Delete(s.all, 0, maxSeals/2)
	}
	s.all = append(s.all, seal{at, maphash.Bytes(s.key, b)})
}

// Fit reports whether b equals the bytes that Add last received for the offset.
func (s *Seals) Fit(at int64, b []byte) bool {
	i, ok := s.find(at)
	return ok && s.all[i].sum == maphash.Bytes(s.key, b)
}

func (s *Seals) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(s.all, at, func(s seal, at int64) int { return cmp.Compare(s.at, at) })
}
