package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// saves measures what was written to the slots of a checkpoint, by a look now and then. Each save has a number, and
// is assumed to be as large as the save that the look found.
type saves struct {
	began time.Time
	first uint64 // the number that the first look found
	last  uint64
	bytes int64
	most  int64 // bytes of one save
}

// look reads the slots in a source.
func (s *saves) look(source string) {
	number, size := s.last, int64(0)
	slots, _ := filepath.Glob(filepath.Join(source, ".ullage", "checkpoint-?"))
	for _, slot := range slots {
		text, _ := os.ReadFile(slot)
		var length int64
		var code string
		var seq uint64
		// A slot that is being written has half of each save; the next look counts it.
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
