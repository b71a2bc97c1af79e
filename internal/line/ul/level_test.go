package ul

import (
	"flag"
	"io"
	"strings"
	"testing"
)

func TestLevelsRoundTrip(t *testing.T) {
	for l := Trace; l <= Error; l++ {
		got, err := ParseLevel(l.String())
		text, _ := l.MarshalText()
		if err != nil || got != l || string(text) != l.String() {
			t.Errorf("%s: parsed as %s, %v; marshaled as %q; want the same level, no error and its name", l, got, err, text)
		}
	}
	if Unknown.String() != "unknown" || Level(200).String() != "unknown" || Error != NumLevels-1 {
		t.Errorf("unknown is %q, level 200 is %q, the last level is %d; want unknown twice and %d", Unknown, Level(200), Error, NumLevels-1)
	}
}

func TestParseLevelRefuses(t *testing.T) {
	for _, text := range []string{"", "unknown", "INFO", "warn", "off", "info "} {
		if got, err := ParseLevel(text); err == nil || !strings.Contains(err.Error(), "use trace, debug, info, warning or error") {
			t.Errorf("ParseLevel(%q) = %s, %v; want an error that lists the levels", text, got, err)
		}
	}
}

func TestLevelIsAFlagValue(t *testing.T) {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	level := Warning
	fs.Var(&level, "keep-level", "keep lines at or above `LEVEL`")
	if def := fs.Lookup("keep-level").DefValue; def != "warning" {
		t.Errorf(`the default is %q, want "warning"`, def)
	}
	if err := fs.Parse([]string{"--keep-level", "debug"}); err != nil || level != Debug {
		t.Errorf("level %s, error %v; want %s and no error", level, err, Debug)
	}
	for _, text := range []string{"warn", "WARN", "Warn", "WARNING", "Warning"} {
		level = Debug
		if err := fs.Parse([]string{"--keep-level", text}); err != nil || level != Warning {
			t.Errorf("%s: level %s, %v; want warning", text, level, err)
		}
	}
	if _, err := ParseLevel("warn"); err == nil {
		t.Error("ParseLevel accepts warn, want an error: a JVM does not know warn")
	}
	level = Debug
	if err := fs.Parse([]string{"--keep-level", "loud"}); err == nil || level != Debug {
		t.Errorf("level %s, %v; want an error and no change", level, err)
	}
}

func TestDecoratorSetIsNamedAsVMLogListsIt(t *testing.T) {
	for want, set := range map[string]Decorator{
		"none":              0,
		"uptime,level,tags": Uptime | LevelDecorator | Tags,
		"time,utctime,uptime,timemillis,uptimemillis,timenanos,uptimenanos,hostname,pid,tid,level,tags": 1<<12 - 1,
	} {
		if got := set.String(); got != want {
			t.Errorf("%#x is %q, want %q", uint16(set), got, want)
		}
	}
}
