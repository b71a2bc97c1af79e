package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPhrasesThatANativeReaderStopsAt(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"it continues behind the gap", "behind"},
		{"what a killed JVM left behind", ""},
		{"labels beside those of the chart", "beside"},
		{"what looks like a stall and is none", "is-none"},
		{"an error if there is none", ""},
		{"from JDK 17 on, the option exists", "from-on"},
		{"from then on, it is a line", ""},
		{"from the JVM on the node", ""},
		{"the counts stand in the checkpoint", "stands"},
		{"the application stood still for a second", ""},
		{"the higher number counts", "counts"},
		{"it counts lines by level, and it counts as one", ""},
		{"somebody deleted it", "somebody"},
		{"it gives the memory of a line back", "give-back"},
		{"it goes back", ""},
		{"as far as the log shows", "phrase"},
		{"it is tried again after a second", ""},
		{"those that are open", "pronoun"},
		{"it reads the file, and sends it", "comma-and"},
		{"it appends, syncs, and writes it", ""},
	} {
		p := prose{places: map[string][]string{}}
		p.find("document", "x", c.text)
		var got []string
		for _, ph := range phrases {
			if len(p.places["document "+ph.name]) > 0 {
				got = append(got, ph.name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

// Code, links and strings of tests are not prose.
func TestPhrasesAreFoundByKind(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md":   "# x\n\nit is behind\n\n```\nbehind\n```\n`behind` [x](behind.md)\n",
		"a/x.go":      "package a\n\n// f is beside g, which is\n// behind h.\nfunc f() string { return \"nobody is there\" }\n",
		"a/x_test.go": "package a\n\nvar s = \"nobody is there\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"charts", "docs", "java", "test"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p, err := readProse(root, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"comment behind: a/x.go:3:1: …f is beside g, which is behind h.…", "comment beside: a/x.go:3:1: …", "document behind: README.md:3: …it is behind…", "text somebody: a/x.go:5:26: …"}
	got := p.all()
	if len(got) != len(want) {
		t.Fatalf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i := range want {
		kind, rest, _ := strings.Cut(want[i], ": ")
		if !strings.HasPrefix(got[i], kind+": ") || !strings.Contains(got[i], rest) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}
