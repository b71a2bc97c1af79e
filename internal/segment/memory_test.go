package segment_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// Followers that are used one after another return the right lines and reuse their buffers and decoders.
func TestFollowersShareMemory(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dir := t.TempDir()
		s := openStore(t, dir, configOf(how))
		want := map[string][]byte{}
		for i, name := range []string{"a.log", "b.log"} {
			str := freshStream(t, s, name)
			want[name] = lines(int64(i), 2000)
			must(t, str.Append(want[name]))
			sync(t, str)
		}
		var m segment.Memory
		look := func(name string) (got []byte) {
			f, err := segment.OpenFollower(filepath.Join(dir, name), segment.FollowOptions{Memory: &m})
			must(t, err)
			defer f.Close()
			for {
				raw, err := f.Next()
				if errors.Is(err, io.EOF) {
					return got
				}
				must(t, err)
				got = append(got, raw...)
			}
		}
		for range 3 {
			for name, text := range want {
				if got := look(name); !bytes.Equal(got, text) {
					t.Fatalf("%s has %d bytes, want %d", name, len(got), len(text))
				}
			}
		}
		const looks = 50
		allocated := func() uint64 {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			return s.TotalAlloc
		}
		before := allocated()
		for range looks {
			f, err := segment.OpenFollower(filepath.Join(dir, "a.log"), segment.FollowOptions{Memory: &m})
			must(t, err)
			_, err = f.Next()
			must(t, err)
			must(t, f.Close())
		}
		if each := (allocated() - before) / looks; each > 16<<10 {
			t.Errorf("a look allocates %d bytes, want at most 16 KiB", each)
		}
	})
}
