package repo

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// fenced is a block of commands, spanned is code in a line of text.
	fenced  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	spanned = regexp.MustCompile("`([^`\n]+)`")

	// called matches a call of one of the programs where a shell expects a command, up to the end of the command.
	called = regexp.MustCompile(`(?m)(?:^|[;&|(]| --|\$|\bsudo|\buntil)\s*(?:bin/)?(kubectl ullage|ullage-injector|ullage) ([^|;&#>)\n]*)`)

	quoted  = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	flagged = regexp.MustCompile(`^\[?(--?[A-Za-z][A-Za-z0-9-]*)`)
)

// TestDocumentedCommandsExist checks every call of a program in the documents: the program must offer the command and
// the flags for completion by a shell.
func TestDocumentedCommandsExist(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "github.com/ullage/ullage/cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	offered := map[string][]string{}
	offer := func(program string, words ...string) []string {
		key := program + " " + strings.Join(words, " ")
		if offered[key] == nil {
			cmd := exec.Command(filepath.Join(bin, strings.ReplaceAll(program, " ", "-")), append([]string{"__complete"}, words...)...)
			cmd.Env = []string{"KUBECTL=false"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			for line := range strings.Lines(string(out)) {
				word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
				offered[key] = append(offered[key], word)
			}
		}
		return offered[key]
	}
	pages := append(glob(t, "../../*.md"), glob(t, "../../docs/*.md")...)
	calls := 0
	for _, page := range append(append(pages, glob(t, "../../*/README.md")...), glob(t, "../../charts/*/README.md")...) {
		text := read(t, page)
		for _, code := range append(fenced.FindAllStringSubmatch(text, -1), spanned.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1)...) {
			for _, call := range called.FindAllStringSubmatch(strings.ReplaceAll(code[1], "\\\n", " "), -1) {
				calls++
				if wrong := wrongCall(call[1], call[2], offer); wrong != "" {
					t.Errorf("%s: got the call %s %s, want an existing command with existing flags: %s", page, call[1], call[2], wrong)
				}
			}
		}
	}
	t.Logf("%d calls", calls)
	if calls < 100 {
		t.Errorf("%d calls of programs were found, want at least 100: the patterns of this test are out of date", calls)
	}
}

// wrongCall returns what is wrong with the arguments of a program, or nothing.
func wrongCall(program, args string, offer func(program string, words ...string) []string) string {
	var words, flags []string // the command, perhaps with a verb, and its flags
	for _, arg := range strings.Fields(quoted.ReplaceAllString(args, "X")) {
		if f := flagged.FindStringSubmatch(arg); f != nil {
			flags = append(flags, f[1])
			continue
		}
		arg = strings.Trim(arg, `[]\`)
		if len(words) < 2 && slices.Contains(offer(program, append(slices.Clone(words), "")...), arg) {
			words = append(words, arg)
		} else if len(words) == 0 && len(flags) == 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(arg) {
			return "it has no such command"
		}
	}
	known := append(offer(program, append(words, "-")...), "--help", "--version")
	for _, flag := range flags {
		if !slices.Contains(known, flag) {
			return "it has no flag " + flag
		}
	}
	return ""
}
