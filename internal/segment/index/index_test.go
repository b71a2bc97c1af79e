package index

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// Other users may be able to write to the volume. A file of sums is used only if its writers may also write the segment.
func TestWhoseSumsAreBelieved(t *testing.T) {
	chown := func(uid, gid int) func(t *testing.T, sums string) error {
		return func(t *testing.T, sums string) error {
			lab.NeedsRoot(t, "to give a file away")
			return os.Chown(sums, uid, gid)
		}
	}
	for name, c := range map[string]struct {
		segment, sums os.FileMode
		change        func(t *testing.T, sums string) error
		want          bool
	}{
		"of the writer of the segment":           {segment: 0o640, sums: 0o640, want: true},
		"narrower than the segment":              {segment: 0o660, sums: 0o600, want: true},
		"on a volume without modes":              {segment: 0o777, sums: 0o777, want: true},
		"of a group that may write the segment":  {segment: 0o660, sums: 0o660, want: true},
		"of a group that may not write it":       {segment: 0o640, sums: 0o660},
		"of everyone":                            {segment: 0o660, sums: 0o662},
		"of another user":                        {segment: 0o640, sums: 0o640, change: chown(12345, -1)},
		"of another group, which may not write":  {segment: 0o660, sums: 0o640, change: chown(-1, 12345), want: true},
		"of another group that may write it too": {segment: 0o660, sums: 0o660, change: chown(-1, 12345)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := entry(1)
			data, _ := e.Append(nil)
			write(t, filepath.Join(dir, Name), data, c.sums)
			seg := filepath.Join(dir, "segment")
			write(t, seg, []byte("x"), c.segment)
			if c.change != nil {
				must(t, c.change(t, filepath.Join(dir, Name)))
			}
			x := Read(dir)
			file, err := os.Open(seg)
			must(t, err)
			defer file.Close()
			s, ok := x.Of(1, at(0), file)
			if ok != c.want || ok && (s.Size != 77 || s.CRC != 0xdeadbeef) {
				t.Errorf("the entry is believed: %v, want %v; it is %+v", ok, c.want, s)
			}
			if _, ok := x.Of(2, at(0), file); ok {
				t.Error("the entry is believed for another number, want it ignored")
			}
			if _, ok := x.Of(1, at(1), file); ok {
				t.Error("the entry is believed for another time, want it ignored")
			}
		})
	}
}

// Whatever is in the file's place, a reader neither blocks on it nor reads more than its bound.
func TestWhatIsNotAFileOfSums(t *testing.T) {
	e := entry(1)
	data, _ := e.Append(nil)
	elsewhere := filepath.Join(t.TempDir(), Name)
	write(t, elsewhere, data, 0o600)
	for name, c := range map[string]struct {
		make    func(path string) error
		entries int
	}{
		"nothing":     {make: func(string) error { return nil }},
		"empty":       {make: func(path string) error { return os.WriteFile(path, nil, 0o600) }},
		"half":        {make: func(path string) error { return os.WriteFile(path, data[:EntryBytes/2], 0o600) }},
		"one and cut": {make: func(path string) error { return os.WriteFile(path, append(data, data[:EntryBytes-1]...), 0o600) }, entries: 1},
		"one twice":   {make: func(path string) error { return os.WriteFile(path, append(data, data...), 0o600) }, entries: 1},
		"endless": {make: func(path string) error {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}, entries: 1},
		"a directory": {make: func(path string) error { return os.Mkdir(path, 0o700) }},
		"a link":      {make: func(path string) error { return os.Symlink(elsewhere, path) }},
		"a FIFO":      {make: func(path string) error { return unix.Mkfifo(path, 0o600) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, c.make(filepath.Join(dir, Name)))
			n := 0
			if x := Read(dir); x != nil {
				n = len(x.entries)
			}
			if n != c.entries {
				t.Errorf("%d entries, want %d", n, c.entries)
			}
		})
	}
}

func write(t *testing.T, path string, data []byte, mode os.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
	must(t, os.Chmod(path, mode)) // whatever the umask is
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
