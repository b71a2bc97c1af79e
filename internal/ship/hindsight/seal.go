package hindsight

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// seals tell the records that this process has appended from what somebody else has
// written in their place. A record whose seal fits needs not be decompressed to be trusted.
// Who can write to the file cannot make one that fits: the hash has a key that never
// leaves the process. The zero value has none.
type seals struct {
	key maphash.Seed // of the first seal on
	all []seal       // by their place, which grows
}

// seal is the hash of a record's bytes.
type seal struct {
	at  int64 // of the record in the file
	sum uint64
}

// maxSeals bounds the memory for them, to 64 KiB. Older records are decompressed.
const maxSeals = 4096

// add remembers the record at an offset, which nothing follows.
func (s *seals) add(at int64, record []byte) {
	if s.all == nil {
		s.key = maphash.MakeSeed()
	}
	i, _ := s.find(at)
	if s.all = s.all[:i]; len(s.all) == maxSeals {
		s.all = slices.Delete(s.all, 0, maxSeals/2)
	}
	s.all = append(s.all, seal{at, maphash.Bytes(s.key, record)})
}

// fits reports whether the record at an offset is the one that was added last with it.
func (s *seals) fits(at int64, record []byte) bool {
	i, ok := s.find(at)
	return ok && s.all[i].sum == maphash.Bytes(s.key, record)
}

func (s *seals) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(s.all, at, func(s seal, at int64) int { return cmp.Compare(s.at, at) })
}
