package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// saves estimates, from samples, how many bytes were written to the slots of a checkpoint. Each save has a number.
// All saves since the last sample are assumed to be as large as the newest.
type saves struct {
	began time.Time
	first uint64 // the number that the first sample found
	last  uint64
	bytes int64
	most  int64 // bytes of one save
}

// look takes a sample of the slots in a source.
func (s *saves) look(source string) {
	number, size := s.last, int64(0)
	slots, _ := filepath.Glob(filepath.Join(source, ".ullage", "checkpoint-?"))
	for _, slot := range slots {
		text, _ := os.ReadFile(slot)
		var length int64
		var code string
		var seq uint64
		// A slot that is being written cannot be parsed; the next sample counts it.
		if _, err := fmt.Sscanf(string(text), "ullage-checkpoint 1 %d %s", &length, &code); err != nil {
			continue
		}
		for at := range text {
			if _, err := fmt.Sscanf(string(text[at:min(len(text), at+40)]), `{"seq":%d`, &seq); err == nil {
				break
			}
		}
		if seq > number {
			number, size = seq, length
		}
	}
	if s.began.IsZero() {
		*s = saves{began: time.Now(), first: number, last: number}
		return
	}
	s.bytes += int64(number-s.last) * size
	s.last, s.most = number, max(s.most, size)
}

func (s *saves) String() string {
	took := time.Since(s.began).Seconds()
	return fmt.Sprintf("%.1f checkpoints a second, of %d bytes at most: %.1f KiB/s", float64(s.last-s.first)/took, s.most, float64(s.bytes)/took/1024)
}
