package incident

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/read/report/view"
)

// about describes the archives of the tests.
var about = Manifest{Of: "/durable on web-0", Version: "v1", Made: time.Unix(1e9, 0).UTC(), Since: time.Unix(1e9-300, 0).UTC(), Until: time.Unix(1e9, 0).UTC()}

// made returns an archive with the parts that fill adds.
func made(t *testing.T, fill func(*Archive) error) []byte {
	t.Helper()
	var b bytes.Buffer
	a := New(&b, about)
	if err := errors.Join(fill(a), a.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// opened returns the files of an archive and its manifest.
func opened(t *testing.T, archive []byte) (files map[string]string, m Manifest) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	if err := json.Unmarshal([]byte(files[manifestName]), &m); err != nil {
		t.Fatal(err)
	}
	return files, m
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// some adds a few parts, with markup such as a log could contain.
func some(a *Archive) error {
	a.Lack("gc.log: gaps: <b>1</b>")
	return errors.Join(
		a.Add(CheckText, "the <i>check</i>", text("NOT COMPLETE <script>alert(1)</script>\xff\n")),
		a.Add("status.json", "the status", text("{}\n")),
		a.Add("threads-1.txt", "threads", func(w io.Writer) error {
			return errors.Join(text("half of")(w), errors.New("it <u>ended</u>"))
		}),
		a.Report(&view.Report{Name: "/durable", Inputs: []view.Input{{Name: "gc.log <s>"}}}),
		a.Lines([]Stream{{Name: "a:b/<x>.html", Print: text("<script>alert(2)</script>\n")}, {Name: "hotspot_pid1.log", Print: text("-Dpassword=secret")}}))
}

// Text from a log is shown and never run as a script, and no stream name makes a browser treat a file of lines as a
// page.
func TestNothingThatALogSaysIsRun(t *testing.T) {
	files, m := opened(t, made(t, some))
	page := files["index.html"]
	for _, want := range []string{"Content-Security-Policy", "default-src &#39;none&#39;; style-src", "&lt;script&gt;alert(1)&lt;/script&gt;", "Not complete", "gaps: &lt;b&gt;1&lt;/b&gt;",
		"the &lt;i&gt;check&lt;/i&gt;", "it &lt;u&gt;ended&lt;/u&gt;", `href="lines/a%253Ab%252F%253Cx%253E.html.txt"`, "left out, because it may contain secrets"} {
		if !strings.Contains(page, want) {
			t.Errorf("the index page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "script-src") {
		t.Errorf("the index page has a script, want no \"<script\" in it and no \"script-src\" in it:\n%s", page)
	}
	if got := files["lines/a%3Ab%2F%3Cx%3E.html.txt"]; got != "<script>alert(2)</script>\n" {
		t.Errorf("the lines are %q, want \"<script>alert(2)</script>\\n\"", got)
	}
	for name, content := range files {
		if strings.Contains(content, "secret") && name != "index.html" && name != manifestName || strings.Contains(content, "password") {
			t.Errorf("%s has a secret, want none", name)
		}
	}
	if len(m.Lacks) != 3 || m.Parts[2].Bytes != 7 || m.Parts[2].Problem != "it <u>ended</u>" {
		t.Errorf(`%+v, want 3 in Lacks, Bytes 7 and Problem "it <u>ended</u>"`, m)
	}
}

func TestAnArchiveOfEverythingIsComplete(t *testing.T) {
	files, m := opened(t, made(t, func(a *Archive) error {
		return a.Lines([]Stream{{Name: "gc.log", Print: text("one\ntwo")}})
	}))
	if len(m.Lacks) > 0 || !strings.Contains(files["index.html"], "Complete: every line") || files["lines/gc.log.txt"] != "one\ntwo" {
		t.Errorf("%+v, want no Lacks, \"Complete: every line\" in the index page and the lines \"one\\ntwo\"\n%s", m, files["index.html"])
	}
}

// Streams that are too long for the archive lose their oldest lines, but only whole lines. All other streams are complete.
func TestTheOldestLinesOfTheLongestStreamsAreCutFirst(t *testing.T) {
	const line = "[2026-11-20T10:00:00.000+0000] %010d\n" // of 42 bytes
	long := func(lines int) func(io.Writer) error {
		return func(w io.Writer) error {
			for i := range lines {
				if _, err := fmt.Fprintf(w, line, i); err != nil {
					return err
				}
			}
			return nil
		}
	}
	const most, more = 1_000_000, 1_300_000
	files, m := opened(t, made(t, func(a *Archive) error {
		return errors.Join(a.Add("threads-1.txt", "threads", text(strings.Repeat("x", maxPart+7))),
			a.Lines([]Stream{{Name: "a.log", Print: long(most)}, {Name: "b.log", Print: long(3)}, {Name: "c.log", Print: long(more)}}))
	}))
	total := 0
	for _, p := range m.Parts {
		total += int(p.Bytes)
		if int(p.Bytes) != len(files[p.Name]) {
			t.Errorf("%s has %d bytes, want %d, the size in the manifest", p.Name, len(files[p.Name]), p.Bytes)
		}
	}
	if total > MaxBytes || total < MaxBytes-100 {
		t.Errorf("the parts have %d bytes, want %d to %d", total, MaxBytes-100, MaxBytes)
	}
	size := len(fmt.Sprintf(line, 0))
	for i, lines := range map[int]int{1: most, 2: 3, 3: more} {
		p := m.Parts[i]
		got := files[p.Name]
		if int(p.Bytes+p.Cut) != lines*size || len(got)%size != 0 || !strings.HasSuffix(got, fmt.Sprintf(line, lines-1)) {
			t.Errorf("%s: %d bytes and %d cut bytes of %d lines, ends with %.100q; want %d bytes in all, and whole lines up to the last one",
				p.Name, p.Bytes, p.Cut, lines, got[max(0, len(got)-100):], lines*size)
		}
	}
	if m.Parts[0].Cut != 7 || m.Parts[2].Cut != 0 || len(m.Lacks) != 3 || !strings.Contains(files["index.html"], "are missing") {
		t.Errorf(`%+v, want Cut 7 in the first part, Cut 0 in the third, 3 Lacks and "are missing" in the index page`, m)
	}
}

// The lines around stops in a report are not in the archive's files of lines: their secrets are left out separately.
func TestLinesAroundStopsHaveNoSecrets(t *testing.T) {
	stop := view.Stop{Lines: []string{"[1.1s][info][gc] GC(0) Pause Full (System.gc()) 1M->1M(8M) 900.0ms"},
		Before: []string{"rest of a secret", "[1.0s][info][arguments] java_command: Main secret"}, After: []string{"secret", "[1.2s][info][gc] x"}}
	r := withoutSecrets(&view.Report{Longest: []view.Stop{stop}, Suspected: []*view.Stop{&stop}})
	want := stop
	want.Before, want.After = []string{leftOut, "[1.0s][info][arguments] java_command: Main"}, []string{leftOut, "[1.2s][info][gc] x"}
	if d := cmp.Diff([]view.Stop{want, want}, append(r.Longest, *r.Suspected[0])); d != "" {
		t.Errorf("the lines around the stops (-want +got):\n%s", d)
	}
	if stop.Before[0] == leftOut {
		t.Error("the caller's report has changed, want a copy")
	}
}

func TestSecretsOfACommandLineAreLeftOut(t *testing.T) {
	log, err := os.ReadFile("../report/testdata/arguments-jdk25.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, stream, log, want string
	}{
		{"a JVM's log", "gc.log", string(log), "[arguments] jvm_args: -Xms32m -Xmx64m -Xss1m -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError\n"},
		{"JDK 8", "gc.log", "CommandLine flags: -XX:MaxHeapSize=1 -Dpassword=secret \n1.0: [GC]\n", "CommandLine flags: -XX:MaxHeapSize=1\n1.0: [GC]\n"},
		{"an argument with line ends", "gc.log", "[1s][info][arguments] java_command: Main a\nsecret\n\n[1s][info][gc] x\n", "java_command: Main\n" + strings.Repeat(leftOut+"\n", 2) + "[1s][info][gc] x\n"},
		{"an argument with an empty line and a bracket", "gc.log", "[1s][info][arguments] jvm_args: -Xmx1g -Dkey={\n\n[\"secret\",\n[secret\n[1s][info][gc] x\n", "jvm_args: -Xmx1g\n" + strings.Repeat(leftOut+"\n", 3) + "[1s][info][gc] x\n"},
		{"an argument that looks like a command line", "gc.log", "Command Line: -Xmx1g -Da=secret -Db=jvm_args: x\n", "Command Line: -Xmx1g\n"},
		{"a crash", "hs_err_pid1.log", "Command Line: -Xmx1g -Dx=secret Main secret\n{\n\nsecret\n}\n\nHost: x\nVM Arguments:\njvm_args: -Xmx1g -Dx=secret\nsecret\njava_command: Main secret\n\n" +
			"Environment Variables:\nPATH=secret\nEMPTY=\nTOKEN=a\n\nsecret\n\nSignal Handlers:\nSIGSEGV=crash\n",
			"Environment Variables:\n" + strings.Repeat(leftOut+"\n", 6) + "Signal Handlers:\nSIGSEGV=crash\n"},
		{"options of the environment", "out.log", "Picked up JAVA_TOOL_OPTIONS: -Dtoken=secret -Xmx1g\nplain\n", "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nplain\n"},
		{"an endless command line", "gc.log", "jvm_args: " + strings.Repeat("-Dx=secret ", cut.HeadBytes) + "\n[1s] next\n", "jvm_args: \n[1s] next\n"},
		{"an application's line", "app.log", "12:00 INFO it ran java_command: Main secret\n12:01 INFO next\n", "java_command: Main\n12:01 INFO next\n"},
	} {
		whole := ""
		for _, size := range []int{1, 7, 4096, 1 << 30} { // the size of the pieces in which a reader passes on the lines
			s := Stream{Name: c.stream, Print: func(w io.Writer) error {
				for rest := c.log; rest != ""; {
					n := min(size, len(rest))
					if err := text(rest[:n])(w); err != nil {
						return err
					}
					rest = rest[n:]
				}
				return nil
			}}
			var got bytes.Buffer
			if err := newFilter(&got, s.Name, 0).print(s.Print); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.String(), "secret") || !strings.Contains(got.String(), c.want) {
				t.Errorf("%s, in pieces of %d: want no secret, and %q in it:\n%.2000s", c.name, size, c.want, got.String())
			}
			if whole != "" && whole != got.String() {
				t.Errorf("%s: in pieces of %d, the result differs from before, want the same", c.name, size)
			}
			whole = got.String()
		}
	}
}

// Lines without secrets are the same as in the log.
func TestLinesWithoutSecretsAreUnchanged(t *testing.T) {
	for _, log := range []string{"", "\n", "a\r\n\n b", strings.Repeat("x", 3*cut.HeadBytes) + "\nnext\n", "\x00\xff\n", "[1s] Environment Variables:\nA=b\n"} {
		var got bytes.Buffer
		if err := newFilter(&got, "gc.log", 0).print(text(log)); err != nil || got.String() != log {
			t.Errorf("%.80q became %.80q, error %v; want no change and no error", log, got.String(), err)
		}
	}
}

// remade returns the archive that Remake makes from an archive.
func remade(archive []byte) ([]byte, error) {
	var b bytes.Buffer
	err := Remake(&b, bytes.NewReader(archive), int64(len(archive)), "pod web-0")
	return b.Bytes(), err
}

func TestARemadeArchiveHasTheSameParts(t *testing.T) {
	first := made(t, some)
	again, err := remade(first)
	if err != nil {
		t.Fatal(err)
	}
	files, m := opened(t, first)
	gotFiles, got := opened(t, again)
	for _, files := range []map[string]string{files, gotFiles} {
		delete(files, "index.html")
		delete(files, manifestName)
	}
	if d := cmp.Diff(files, gotFiles); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	m.Of = "pod web-0: " + m.Of
	if d := cmp.Diff(m.Lacks, got.Lacks); d != "" || got.Of != m.Of {
		t.Errorf("%q (-want +got)\n%s", got.Of, d)
	}
}

// An archive that a connection has cut is not taken for a whole one, wherever it is cut.
func TestACutArchiveIsRefused(t *testing.T) {
	archive := made(t, some)
	for n := range archive {
		if near := len(archive) - n; n%101 != 0 && near > 50 { // the end has the directory
			continue
		}
		if _, err := remade(archive[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are accepted, want an error", n, len(archive))
		}
	}
	archive[bytes.Index(archive, []byte("status.json"))+len("status.json")+11] ^= 1 // in the content, after the time
	if _, err := remade(archive); err == nil {
		t.Error("damaged content is accepted, want an error")
	}
}

// An archive that comes from a container may contain anything: a tenant controls the container.
func TestAHostileArchiveRunsNothing(t *testing.T) {
	forge := func(m Manifest, files ...string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		add := func(name, content string) {
			f, err := w.Create(name)
			if err == nil {
				_, err = io.WriteString(f, content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		add(manifestName, string(text))
		for i := 0; i < len(files); i += 2 {
			add(files[i], files[i+1])
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	parts := func(names ...string) (m Manifest) {
		for _, name := range names {
			m.Parts = append(m.Parts, Part{Name: name, About: "<script>", Cut: -5})
		}
		return m
	}
	const evil = "<script>evil()</script>"
	for _, c := range []struct {
		name    string
		archive []byte
		want    string
	}{
		{"a page of its own", forge(parts("evil.html"), "evil.html", evil), "which ullage does not write"},
		{"lines that are a page", forge(parts("lines/evil.html"), "lines/evil.html", evil), "which ullage does not write"},
		{"a path", forge(parts("../../evil.txt"), "../../evil.txt", evil), "which ullage does not write"},
		{"the manifest as a part", forge(parts(manifestName)), "which ullage does not write"},
		{"a part twice", forge(parts("a.txt", "a.txt"), "a.txt", evil), "which ullage does not write"},
		{"a part that is missing", forge(parts("a.txt")), "lacks a part: open a.txt"},
		{"too many parts", forge(parts(make([]string, maxElements)...)), "too many elements"},
		{"a report that is not one", forge(parts(reportJSON), reportJSON, "null"), "it has no inputs"},
		{"a bomb", forge(parts("a.txt"), "a.txt", strings.Repeat("0", MaxBytes+1)), "exceed 64.0 MiB"},
		{"a bomb in parts", forge(parts("a.txt", "b.txt"), "a.txt", strings.Repeat("0", MaxBytes/2+1), "b.txt", strings.Repeat("0", MaxBytes/2+1)), "exceed 64.0 MiB"},
		{"its own index", forge(parts(reportPage, "a.txt"), "index.html", evil, reportPage, evil, "a.txt", "text"), ""},
	} {
		again, err := remade(c.archive)
		if err != nil || c.want != "" {
			if c.want == "" || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
			continue
		}
		files, m := opened(t, again)
		total := 0
		for name, content := range files {
			if total += len(content); strings.Contains(content, evil) || strings.Contains(content, "<script>") && name != manifestName {
				t.Errorf("%s: %s has the script", c.name, name)
			}
		}
		if total > MaxArchive || m.Parts[0].Cut < 0 {
			t.Errorf("%s: %d bytes, the first part is %+v; want at most %d bytes and no negative Cut", c.name, total, m.Parts[0], MaxArchive)
		}
	}
}
