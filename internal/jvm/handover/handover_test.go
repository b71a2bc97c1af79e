package handover

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestACopyArrivesWhole(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"gc-1.log/00001.zst": "first", "gc-1.log/00002.zst": "", ".ullage/checkpoint": "state"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	if err := Write(&sent, from, nil, once); err != nil {
		t.Fatal(err)
	}
	if err := Read(bytes.NewReader(sent.Bytes()), to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "gc-1.log/00001.zst")); string(text) != "first" {
		t.Errorf(`the first segment is %q, error %v, want "first"`, text, err)
	}
	if got, err := os.ReadDir(to); err != nil || len(got) != 2 {
		t.Errorf("the directory has %v, error %v; want 2 entries and no error", got, err)
	}

	// The connection may break anywhere, even between two files.
	end := bytes.LastIndex(sent.Bytes(), []byte(endMark))
	for n := 0; n <= end; n += 256 {
		if err := Read(bytes.NewReader(sent.Bytes()[:n]), t.TempDir()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("after %d of %d bytes, want ErrUnexpectedEOF; got %v", n, end, err)
		}
	}
}

// once is for a directory to which nothing writes any more.
func once() (last bool, err error) { return true, nil }

// errBroken is the end of a connection.
var errBroken = errors.New("the connection broke")

// scene changes the files of a copy while it is being written, one step before each look.
type scene struct {
	*testing.T
	from  string
	steps []func()
	sent  []string // the entries of all connections
}

// next returns a function that does the next step. After the last step, that function reports the last
// look or, if the connection is to break, an error.
func (s *scene) next(breaks bool) func() (bool, error) {
	return func() (bool, error) {
		if len(s.steps) == 0 && breaks {
			return false, errBroken
		}
		if len(s.steps) == 0 {
			return true, nil
		}
		s.steps[0]()
		s.steps = s.steps[1:]
		return false, nil
	}
}

// connect does the steps while the copy is written to a directory, which may already have a part of
// it.
func (s *scene) connect(to string, breaks bool, steps ...func()) {
	s.Helper()
	var asked, sent bytes.Buffer
	if err := Ask(&asked, to); err != nil {
		s.Fatal(err)
	}
	has, err := Asked(bufio.NewReader(&asked))
	if err != nil {
		s.Fatal(err)
	}
	s.steps = steps
	if err := Write(&sent, s.from, has, s.next(breaks)); errors.Is(err, errBroken) != breaks || err != nil && !breaks {
		s.Fatalf("write: %v", err)
	}
	for archive := tar.NewReader(bytes.NewReader(sent.Bytes())); ; {
		h, err := archive.Next()
		if err != nil {
			break
		}
		s.sent = append(s.sent, fmt.Sprintf("%s+%d %v", h.Name, h.Size, h.PAXRecords))
	}
	if err := Read(&sent, to); errors.Is(err, io.ErrUnexpectedEOF) != breaks || err != nil && !breaks {
		s.Fatalf("read: %v", err)
	}
}

// write returns a step that creates or overwrites a file. If text is empty, the step removes the
// file.
func (s *scene) write(name, text string) func() {
	return func() {
		path := filepath.Join(s.from, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && text == "" {
			err = os.Remove(path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
}

// grow returns a step that appends to a file.
func (s *scene) grow(name, text string) func() {
	return func() {
		f, err := os.OpenFile(filepath.Join(s.from, name), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			s.Fatal(err)
		}
	}
}

// has fails unless a directory has exactly the given files.
func (s *scene) has(dir string, want map[string]string) {
	s.Helper()
	got := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		got[name] = string(text)
		return err
	})
	if err != nil || !maps.Equal(got, want) {
		s.Errorf("the directory has %q, want %q; error %v", got, want, err)
	}
}

// If the container ends while the copy grows, the reader has the content that the files had at the
// last look.
func TestACopyArrivesWhileItGrows(t *testing.T) {
	s, to := &scene{T: t, from: t.TempDir()}, t.TempDir()
	s.connect(to, true,
		s.write("gc.log/1.zst", "first"),
		s.write("gc.log/.seek", "changes"),
		s.grow("gc.log/1.zst", ", second"),
		func() {},
		s.write("gc.log/2.zst", "third"),
		s.write("gc.log/1.zst", ""))
	s.has(to, map[string]string{"gc.log/2.zst": "third"})
	want := []string{"gc.log/1.zst+5 map[]", "gc.log/1.zst+8 map[ULLAGE.offset:5]", "gc.log/2.zst+5 map[]", "gc.log/1.zst+0 map[ULLAGE.gone:true]"}
	if !slices.Equal(s.sent, want) {
		t.Errorf("sent: %q, want %q", s.sent, want)
	}
}

// A reader that connects again receives only what it lacks of each file, but the whole of a file
// that was replaced.
func TestACopyContinuesAfterABrokenConnection(t *testing.T) {
	s, to := &scene{T: t, from: t.TempDir()}, t.TempDir()
	s.connect(to, true, func() {
		s.write("gc.log/1.zst", "sealed")()
		s.write("gc.log/2.zst", "grows")()
		s.write("gc.log/3.zst", "is cut")()
		s.write("gc.log/4.zst", "is another")()
		s.write("gc.log/5.zst", "is deleted")()
	})
	s.sent = nil
	s.connect(to, false, func() {
		s.grow("gc.log/2.zst", " on")()
		s.write("gc.log/3.zst", "is")()
		s.write("gc.log/4.zst", "isn't the same")()
		s.write("gc.log/5.zst", "")()
		s.write("gc.log/.seek", "last")()
	})
	all := map[string]string{"gc.log/1.zst": "sealed", "gc.log/2.zst": "grows on", "gc.log/3.zst": "is", "gc.log/4.zst": "isn't the same", "gc.log/.seek": "last"}
	s.has(to, all)
	want := []string{"gc.log/2.zst+3 map[ULLAGE.offset:5]", "gc.log/3.zst+0 map[ULLAGE.gone:true]", "gc.log/3.zst+2 map[]",
		"gc.log/4.zst+0 map[ULLAGE.gone:true]", "gc.log/4.zst+14 map[]", "gc.log/5.zst+0 map[ULLAGE.gone:true]", "gc.log/.seek+4 map[]", ".end+0 map[]"}
	if !slices.Equal(s.sent, want) {
		t.Errorf("sent: %q, want %q", s.sent, want)
	}
	s.sent = nil
	s.connect(to, false)
	s.has(to, all)
	if want := []string{".end+0 map[]"}; !slices.Equal(s.sent, want) {
		t.Errorf("sent by the next connection: %q, want %q", s.sent, want)
	}
}

// A sidecar that was restarted, or whose disk had an error, may have truncated a segment and then written other lines
// to it.
func TestTheLastLookFindsASegmentThatWasCut(t *testing.T) {
	s, to := &scene{T: t, from: t.TempDir()}, t.TempDir()
	s.connect(to, false, s.write("gc.log/1.zst", "one"), s.write("gc.log/1.zst", "another"))
	s.has(to, map[string]string{"gc.log/1.zst": "another"})
}

// The report is replaced while the copy grows, by one that may be longer or shorter.
func TestTheReportArrivesWithEachLook(t *testing.T) {
	s, to := &scene{T: t, from: t.TempDir()}, t.TempDir()
	s.connect(to, true, s.write("gc.log/1.zst", "first"), s.write(Report, `{"lines": 10}`), func() {}, s.write(Report, `{"lines": 200}`))
	s.has(to, map[string]string{"gc.log/1.zst": "first", Report: `{"lines": 200}`})
	s.connect(to, false, s.write(Report, `{"lines": 3}`))
	s.has(to, map[string]string{"gc.log/1.zst": "first", Report: `{"lines": 3}`})
}

// The received part of an entry may end within a frame, so the part is not kept.
func TestAnEntryThatIsCutIsNotKept(t *testing.T) {
	s, to := &scene{T: t, from: t.TempDir()}, t.TempDir()
	s.connect(to, true, s.write("gc.log/1.zst", "first"))
	s.grow("gc.log/1.zst", ", second")()
	s.write("gc.log/2.zst", "third")()
	var asked, sent bytes.Buffer
	if err := Ask(&asked, to); err != nil {
		t.Fatal(err)
	}
	has, err := Asked(bufio.NewReader(&asked))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(&sent, s.from, has, once); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{", second", "third"} {
		cut := sent.Bytes()[:bytes.Index(sent.Bytes(), []byte(text))+2]
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(to)); err != nil {
			t.Fatal(err)
		}
		if err := Read(bytes.NewReader(cut), dir); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut within %q: got the error %v, want ErrUnexpectedEOF", text, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "gc.log/1.zst"))
		if want := map[string]string{", second": "first", "third": "first, second"}[text]; string(got) != want {
			t.Errorf("cut within %q: the file is %q, error %v, want %q", text, got, err, want)
		}
	}
}

func TestAHostileCopyIsRefused(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	recorded := func(name, record, value string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, PAXRecords: map[string]string{record: value}}
	}
	for name, entries := range map[string][]tar.Header{
		"above":              {file("../x")},
		"above, later":       {file("a/../../x")},
		"absolute":           {file("/tmp/x")},
		"link":               {{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}, file("a/x")},
		"hard link":          {{Name: "a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"device":             {{Name: "a", Typeflag: tar.TypeChar}},
		"directory":          {{Name: "a/", Typeflag: tar.TypeDir}},
		"escape":             {file("a\x1b[2J")},
		"drive":              {file("C:x")},
		"other separator":    {file(`..\x`)},
		"an option":          {file("--checkpoint-action")},
		"dot":                {file(".")},
		"empty":              {file("")},
		"name without end":   {file(strings.Repeat("a", maxName+1))},
		"twice":              {file("a"), file("a")},
		"with a hole":        {file("a"), recorded("a", offsetRecord, "1")},
		"before its start":   {file("a"), recorded("a", offsetRecord, "-1")},
		"not at an offset":   {file("a"), recorded("a", offsetRecord, "x")},
		"rest of no file":    {recorded("a", offsetRecord, "0")},
		"gone, never there":  {recorded("a", goneRecord, "true")},
		"gone from above":    {recorded("../copy", goneRecord, "true")},
		"a file and under":   {file("a"), file("a/b")},
		"more than it holds": {{Name: "a", Typeflag: tar.TypeReg, Size: maxBytes + 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var sent bytes.Buffer
			archive := tar.NewWriter(&sent)
			for _, h := range append(entries, file(endMark)) {
				if err := archive.WriteHeader(&h); err != nil {
					break // the entry that is too large has no content, so no entry can follow it
				}
			}
			parent := t.TempDir()
			dir := filepath.Join(parent, "copy")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := Read(&sent, dir); err == nil {
				t.Error("the copy was not refused")
			}
			if got, err := os.ReadDir(parent); err != nil || len(got) != 1 {
				t.Errorf("the parent has %v, error %v; want only the directory of the copy and no error", got, err)
			}
		})
	}
}

func TestACopyHasABoundOfFiles(t *testing.T) {
	var sent bytes.Buffer
	archive := tar.NewWriter(&sent)
	for n := range maxFiles + 2 {
		if err := archive.WriteHeader(&tar.Header{Name: fmt.Sprint(n), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Read(&sent, t.TempDir()); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want a refusal", err)
	}
}
