package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// completed is a program with one command of each kind. Run as a process, it answers the
// completion scripts of the shells.
func completed() Program {
	return Program{
		About: "prog is a test.\n",
		Flags: func(fs *flag.FlagSet) { fs.String("n", "", "`NAME` of a place") },
		Commands: []Command{
			{Name: "logs", Summary: "print: all", Run: func(_ context.Context, args []string, e Env) int {
				fs := flag.NewFlagSet("logs", flag.ContinueOnError)
				at, asJSON := fs.String("level", "", "only at `LEVEL`"), new(bool)
				fs.Bool("follow", false, "go on")
				fs.String("output", "", "write to `FILE`")
				fs.String("dir", "", "look in `DIR`")
				JSONFlags(fs, asJSON, "print JSON")
				e.Operand = "FILE"
				e.Words = Words{"level": func() []string { return []string{"warning", "info", "hostile\x1b[2J"} },
					"": func() []string { return []string{"web-0", "web 1", "level=" + *at} }}
				code, _ := e.Parse(fs, "", args, nil)
				return code
			}},
			{Name: "levels", Summary: "show", Run: func(ctx context.Context, args []string, e Env) int {
				verb := func(_ context.Context, args []string, e Env) int {
					fs := flag.NewFlagSet("list", flag.ContinueOnError)
					fs.Bool("all", false, "all of them")
					code, _ := e.Parse(fs, "", args, nil)
					return code
				}
				return Program{Default: "list", Commands: []Command{{"list", "list them", verb}, {"set", "set one", verb}}}.Run(ctx, args, e)
			}},
			{Name: "hidden", Run: nil},
			Completion(),
			Version(""),
		},
	}
}

func TestCandidates(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"", "logs\tprint: all\nlevels\tshow\ncompletion\tprint a script for completion in bash, zsh or fish\nversion\tprint the program's version and build\n:4\n"},
		{"l", "logs\tprint: all\nlevels\tshow\n:4\n"},
		{"hid", ":4\n"},
		{"-", "--help\tprint what the command does\n-n\tNAME of a place\n:4\n"},
		{"-n|", ":4\n"},
		{"-n|here|lo", "logs\tprint: all\n:4\n"},
		{"help|lo", "logs\tprint: all\n:4\n"},
		{"nothing|", ":4\n"},
		{"logs|--f", "--follow\tgo on\n:4\n"},
		{"logs|--follow|w", "web-0\t\nweb 1\t\n:0\n"},
		{"cat|--f", "--follow\tgo on\n:4\n"},
		{"logs|--level|", "warning\t\ninfo\t\n:4\n"},
		{"logs|--level|in", "info\t\n:4\n"},
		{"logs|--level=in", "--level=info\t\n:4\n"},
		{"logs|--level|x|level", "level=x\t\n:0\n"},
		{"logs|--output|", ":0\n"},
		{"logs|--output=", ":0\n"},
		{"logs|--dir|", ":16\n"},
		{"logs|-o|", "json\t\n:4\n"},
		{"logs|--|--level|", "web-0\t\nweb 1\t\nlevel=\t\n:0\n"},
		{"logs|--|--l", ":0\n"},
		{"logs|--nothing=|web-", "web-0\t\n:0\n"},
		{"levels|", "list\tlist them\nset\tset one\n:4\n"},
		{"levels|--a", "--all\tall of them\n:4\n"},
		{"log|set|--a", "--all\tall of them\n:4\n"},
		{"completion|", "bash\t\nzsh\t\nfish\t\n:4\n"},
	} {
		var stdout, stderr bytes.Buffer
		e := Env{Program: "prog", Stdout: &stdout, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
		code := completed().Run(t.Context(), append([]string{completeCommand}, strings.Split(c.words, "|")...), e)
		if code != OK || stdout.String() != c.want || stderr.Len() > 0 {
			t.Errorf("%q: exit %d, %q%q, want %q", c.words, code, &stdout, &stderr, c.want)
		}
	}
}

// completing is the start of every shell script: it puts this test's binary on the PATH as prog and loads prog's completion script.
func completing(t *testing.T, shell, script string) []string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		lab.Needs(t, shell+": "+err.Error())
	}
	dir := t.TempDir()
	for _, name := range []string{"one.log", "two.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asProgram, os.Args[0])
	if err := os.WriteFile(filepath.Join(dir, "prog"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// sameLines compares lines of the form "words: candidates", where the candidates are what a shell offers
// after the words.
func sameLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the shell offers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestBashCompletes(t *testing.T) {
	t.Parallel()
	// The script sets the variables that bash would set from a command line. It replaces
	// compopt, which works only during a completion.
	got := completing(t, "bash", `
source <(prog completion bash)
compopt() { added="+$2"; }
complete -p prog >/dev/null || exit 3
try() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) added=
    _prog prog "${@: -1}" "${@: -2:1}"
    echo "${*:2}: ${COMPREPLY[*]}$added"
}
try prog lo
try prog l
try prog logs --level in
try prog logs --level = in
try prog logs --level =
try prog logs --foll
try prog logs web
try prog logs --dir ''
try prog levels s
`)
	sameLines(t, got, "lo: logs", "l: logs levels", "logs --level in: info", "logs --level = in: info", "logs --level =: warning info",
		"logs --foll: --follow", `logs web: web-0 web\ 1+default`, "logs --dir : +dirnames", "levels s: set")
}

func TestZshCompletes(t *testing.T) {
	t.Parallel()
	// The functions of zsh's completion would show candidates to a terminal; here they print them.
	got := completing(t, "zsh", `
autoload -Uz compinit && compinit -u -d dump
source <(prog completion zsh)
[[ $_comps[prog] == _prog ]] || exit 3
_describe() { local -a all; all=("${(@P)3}"); added="${(j: / :)all}"; }
_files() { added+="+files$1"; }
try() {
    local -a words; words=("$@"); local CURRENT=$#
    added=
    _prog
    print -r -- "${(j: :)words[2,-1]}: $added"
}
try prog lo
try prog logs --level in
try prog logs --level=in
try prog logs we
try prog logs 'web\ '
try prog logs --dir ''
try prog levels s
`)
	sameLines(t, got, `lo: logs:print: all`, "logs --level in: info:", "logs --level=in: --level=info:", `logs we: web-0: / web 1:+files`,
		`logs web\ : web 1:+files`, "logs --dir : +files-/", "levels s: set:set one")
}

func TestFishCompletes(t *testing.T) {
	t.Parallel()
	got := completing(t, "fish", `
prog completion fish | source
function try
    echo "$argv[1]:" (complete -C "prog $argv[1]" | string replace \t =)
end
try lo
try 'logs --level in'
try 'logs --level=in'
try 'logs we'
try 'logs --output o'
try 'levels s'
`)
	sameLines(t, got, "lo: logs=print: all", "logs --level in: info", "logs --level=in: --level=info", "logs we: web 1 web-0",
		"logs --output o: one.log", "levels s: set=set one")
}
