package kernel

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheSoftLimitFollowsTheControlGroup(t *testing.T) {
	const own = 16 << 20
	for _, c := range []struct {
		name, file, text string
		want             int64
	}{
		{"version 2", "memory.max", "10485760\n", 10485760 / 10 * 9},
		{"version 1", "memory/memory.limit_in_bytes", "10485760\n", 10485760 / 10 * 9},
		{"a large one", "memory.max", "67108864\n", own},
		{"none", "memory.max", "max\n", own},
		{"none in version 1", "memory/memory.limit_in_bytes", "9223372036854771712\n", own},
		{"nonsense", "memory.max", "much\n", own},
		{"no file", "cpu.max", "", own},
	} {
		root := t.TempDir()
		path := filepath.Join(root, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := softLimit(root, own); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
