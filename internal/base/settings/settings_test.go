package settings

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size
		back string
	}{
		{"0", 0, "0"},
		{"4096", 4096, "4Ki"},
		{"4097", 4097, "4097"},
		{"64Mi", 64 * Mi, "64Mi"},
		{"1.5Gi", 1536 * Mi, "1536Mi"},
		{"2k", 2000, "2000"},
		{"1M", 1e6, "1000000"},
		{"7Ti", 7 << 40, "7Ti"},
	} {
		got, err := ParseSize(c.text)
		if err != nil || got != c.want || got.String() != c.back {
			t.Errorf("ParseSize(%q) = %d (%s), %v; want %d (%s)", c.text, got, got, err, c.want, c.back)
		}
	}
}

func TestParseSizeRefuses(t *testing.T) {
	for _, text := range []string{"", "Mi", "-1", "-1Mi", "1e3", "inf", "0x10", "64MB", "64 Mi", "9999999Ti", "1..2", "nan"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"64Mi", "1.5Gi", "-1", "1e9", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseSize(text)
		if err != nil {
			return
		}
		if v < 0 {
			t.Fatalf("ParseSize(%q) = %d, want at least 0", text, v)
		}
		if back, err := ParseSize(v.String()); err != nil || back != v {
			t.Fatalf("%q is read as %d, written as %q and read back as %d, error %v; want the same size and no error", text, v, v, back, err)
		}
	})
}

func newSet() (*flag.FlagSet, *Size, *time.Duration) {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	size := 4 * Mi
	fs.Var(&size, "queue", "memory of the `SIZE`")
	d := new(time.Duration)
	DurationVar(fs, d, "sync-interval", time.Second, "commit every `DURATION`")
	return fs, &size, d
}

func TestFlagBeatsEnvironmentBeatsDefault(t *testing.T) {
	fs, size, d := newSet()
	env := map[string]string{"ULLAGE_QUEUE": "1Mi", "ULLAGE_SYNC_INTERVAL": "3s"}
	bad := Parse(fs, []string{"--queue", "2Mi"}, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if len(bad) != 0 || *size != 2*Mi || *d != 3*time.Second {
		t.Fatalf("queue %s, interval %s, errors %v; want 2Mi, 3s and no errors", size, d, bad)
	}
}

func TestEveryBadValueIsReportedAtOnce(t *testing.T) {
	fs, _, _ := newSet()
	env := map[string]string{"ULLAGE_SYNC_INTERVAL": "often"}
	bad := Parse(fs, []string{"--queue=lots", "--nonsense", "--queue"}, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	text := errors.Join(bad...).Error()
	for _, want := range []string{`"lots"`, "for --queue", "unknown flag --nonsense", "needs an argument: --queue", "ULLAGE_SYNC_INTERVAL"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if len(bad) != 4 {
		t.Errorf("%d errors, want 4:\n%s", len(bad), text)
	}
}

func TestHelpNamesEveryFlagWithItsDefault(t *testing.T) {
	fs, _, _ := newSet()
	var b strings.Builder
	PrintFlags(&b, fs)
	for _, want := range []string{"--queue SIZE", "(default 4Mi)", "--sync-interval DURATION", "(default 1s)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestHelpOfGroups(t *testing.T) {
	size := 4 * Mi
	groups := []Group{
		{"What is read", func(fs *flag.FlagSet) { fs.String("source", "", "`DIR` of logs") }},
		{"Memory", func(fs *flag.FlagSet) { fs.Var(&size, "queue", "`SIZE` of it"); fs.Bool("all", false, "use all") }},
	}
	var b strings.Builder
	PrintGroups(&b, groups)
	want := "What is read:\n  --source DIR\n      DIR of logs\n\nMemory:\n  --all\n      use all\n  --queue SIZE\n      SIZE of it (default 4Mi)\n"
	if b.String() != want {
		t.Errorf("the usage is %s, want %s", &b, want)
	}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	if Declare(fs, groups); !slices.Equal(Names(fs), []string{"all", "queue", "source"}) {
		t.Errorf("the flags are %q, want all, queue and source", Names(fs))
	}
}

func TestHelpIsAtMost80ColumnsWide(t *testing.T) {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	long := strings.Repeat("a word\nand another ", 30)
	fs.String("source", "/dev/shm", "`DIR` of "+long)
	fs.String("word", "", strings.Repeat("x", 90))
	var b strings.Builder
	PrintFlags(&b, fs)
	if got, want := strings.Join(strings.Fields(b.String()), " "), "--source DIR DIR of "+strings.Join(strings.Fields(long), " ")+" (default /dev/shm)"; !strings.HasPrefix(got, want) {
		t.Errorf("the usage is %s, want %s", got, want)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > helpWidth+1 && !strings.HasPrefix(line, helpIndent+"xxx") {
			t.Errorf("a line has %d columns, want at most %d: %s", len(line)-1, helpWidth, line)
		}
	}
}

func TestBadValueSaysHowToWriteItAndLeavesTheDefault(t *testing.T) {
	fs, _, d := newSet()
	bad := Parse(fs, []string{"--sync-interval", "often"}, func(string) (string, bool) { return "", false })
	if len(bad) != 1 || bad[0].Error() != `invalid value "often" for --sync-interval: write it like 500ms, 10s or 24h` {
		t.Errorf(`the errors are %v, want only: invalid value "often" for --sync-interval: write it like 500ms, 10s or 24h`, bad)
	}
	if *d != time.Second {
		t.Errorf("the value is %s, want the default", d)
	}
}

func TestFlagsMayBeBeforeAndAfterNames(t *testing.T) {
	for _, c := range []struct {
		args  []string
		names []string
		queue Size
		bad   string
	}{
		{[]string{"a", "--queue", "2Mi", "b"}, []string{"a", "b"}, 2 * Mi, ""},
		{[]string{"--queue=2Mi", "a", "b"}, []string{"a", "b"}, 2 * Mi, ""},
		{[]string{"a", "b", "--queue=2Mi"}, []string{"a", "b"}, 2 * Mi, ""},
		{[]string{"a", "--", "--queue", "-"}, []string{"a", "--queue", "-"}, 4 * Mi, ""},
		{[]string{"-", "--queue", "2Mi"}, []string{"-"}, 2 * Mi, ""},
		{[]string{"--queue", "--", "a"}, []string{"a"}, 4 * Mi, `invalid value "--" for --queue`},
		{[]string{"a", "--queue"}, []string{"a"}, 4 * Mi, "flag needs an argument: --queue"},
		{[]string{"a", "--qeue", "b"}, []string{"a", "b"}, 4 * Mi, `unknown flag --qeue; did you mean "--queue"?`},
		{[]string{"a", "-f", "-q"}, []string{"a"}, 4 * Mi, "unknown flag -q"},
		{[]string{"a", "-l"}, []string{"a"}, 4 * Mi, "unknown flag -l"},
		{[]string{"a", "--fo"}, []string{"a"}, 4 * Mi, "unknown flag --fo"},
		{[]string{"a", "--help", "b"}, nil, 4 * Mi, "help requested"},
	} {
		fs, size, _ := newSet()
		fs.Bool("f", false, "")
		bad := errors.Join(Parse(fs, c.args, func(string) (string, bool) { return "", false })...)
		if bad != nil && strings.HasPrefix(c.bad, "unknown flag") && bad.Error() != c.bad {
			t.Errorf("Parse(%q): %v, want %q and no guess", c.args, bad, c.bad)
		}
		if c.bad == "" && bad != nil || c.bad != "" && (bad == nil || !strings.Contains(bad.Error(), c.bad)) {
			t.Errorf("Parse(%q): %v, want %q", c.args, bad, c.bad)
		}
		if c.names != nil && !slices.Equal(fs.Args(), c.names) || *size != c.queue {
			t.Errorf("Parse(%q): names %q, queue %s; want %q, %s", c.args, fs.Args(), *size, c.names, c.queue)
		}
	}
}

func TestMisspeltVariables(t *testing.T) {
	flags := []string{"budget", "dest", "sync-interval", "f", "for"}
	for variable, want := range map[string]string{
		"ULLAGE_BUGET=64Mi":                 "ULLAGE_BUDGET",
		"ULLAGE_SYNC-INTERVAL=1s":           "ULLAGE_SYNC_INTERVAL",
		"ULLAGE_SYNCINTERVAL=":              "ULLAGE_SYNC_INTERVAL",
		"ULLAGE_dest=/x=y":                  "ULLAGE_DEST",
		"ULLAGE_BUDGET=64Mi":                "",
		"ULLAGE_FOR=1s":                     "",
		"ULLAGE_FOO=1":                      "", // similar only to a short name
		"ULLAGE_X=1":                        "",
		"ULLAGE_":                           "",
		"BUGET=64Mi":                        "",
		"ULLAGE_PORT=tcp://10.0.0.1:443":    "",
		"ULLAGE_SERVICE_HOST=10.0.0.1":      "",
		"ULLAGE_DEST_SERVICE_HOST=10.0.0.1": "",
	} {
		got := errors.Join(Misspelt([]string{"PATH=/bin", variable}, flags)...)
		name, _, _ := strings.Cut(variable, "=")
		switch {
		case want == "" && got != nil:
			t.Errorf("%s: the error is %v, want none", variable, got)
		case want != "" && (got == nil || got.Error() != name+" is not a setting and is ignored; did you mean "+want+"?"):
			t.Errorf("%s: the error is %v, want one that asks whether %s was meant", variable, got, want)
		}
	}
}
