package attach

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
)

func TestCommands(t *testing.T) {
	for want, c := range map[string]Command{"VM.log list": List(), "VM.log rotate": Rotate(), "": {}} {
		if c.String() != want {
			t.Errorf("got %q, want %q", c, want)
		}
	}
}

// parsed parses a selection. For "", it returns the zero Selection.
func parsed(t testing.TB, text string) ask.Selection {
	t.Helper()
	if text == "" {
		return ask.Selection{}
	}
	s, err := ask.ParseSelection(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConfigure(t *testing.T) {
	for _, c := range []struct{ line, raise, want string }{
		{" #0: stdout all=warning uptime,level,tags", "gc*=debug",
			`VM.log output="stdout" what=all=warning,gc*=debug decorators=uptime,level,tags`},
		{" #0: stderr all=off none foldmultilines=false", "", `VM.log output="stderr" what=all=off decorators=none`},
		{" #0: file=/var/log/jvm/gc-%p.log all=off,gc*=info,safepoint=info time,level filecount=5,filesize=0B (reconfigured)", "all=debug, GC",
			`VM.log output="file=/var/log/jvm/gc-%p.log" what=all=off,gc*=info,safepoint=info,all=debug,gc=info decorators=time,level`},
		{` #0: file=o'dd\' .log all=off,gc=info none filecount=5`, "",
			`VM.log output="file=o'dd\' .log" what=all=off,gc=info decorators=none`},
		{" #0: file=x all=off none all=off,gc=info tags filecount=5", "gc+heap*=trace",
			`VM.log output="file=x all=off none" what=all=off,gc=info,gc+heap*=trace decorators=tags`},
	} {
		outputs, err := ParseList(listOf(c.line))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Configure(outputs[0], parsed(t, c.raise))
		if err != nil || got.String() != c.want {
			t.Errorf("%s with %q:\n got %s, %v\nwant %s", c.line, c.raise, got, err, c.want)
		}
	}
}

// TestConfigureTakesWhatItCanReadBack makes a command for every output of the real lists and reads
// the command as the JVM does.
func TestConfigureTakesWhatItCanReadBack(t *testing.T) {
	for _, r := range replies {
		outputs, err := ParseList(reply(t, r.name))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outputs {
			c, err := Configure(o, parsed(t, "gc*=trace"))
			if (err == nil) != (o.Err == nil) {
				t.Errorf("%s: %q: got the error %v, want an error only if the output has one: %v", r.name, o.Name, err, o.Err)
			}
			if err == nil {
				checkArguments(t, c, o.Name, o.Selection+",gc*=trace", o.Decorators)
			}
		}
	}
}

func TestConfigureRefuses(t *testing.T) {
	good := Output{Name: "file=x", Selection: "all=off,gc=info", Decorators: "none"}
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		change func(o *Output)
		want   string
	}{
		{"output with an error", func(o *Output) { o.Err = broken }, `configure output "file=x": broken`},
		{"no name", func(o *Output) { o.Name = "" }, "neither stdout"},
		{"index as the name", func(o *Output) { o.Name = "#1" }, "neither stdout"},
		{"path as the name", func(o *Output) { o.Name = "/x" }, "neither stdout"},
		{"newline in the name", func(o *Output) { o.Name = "file=x\nGC.run" }, "control character"},
		{"NUL in the name", func(o *Output) { o.Name = "file=x\x00" }, "control character"},
		{"double quote in the name", func(o *Output) { o.Name = `file=x" rotate` }, "double quote"},
		{"backslash before the quote", func(o *Output) { o.Name = `file=x\` }, "backslash"},
		{"no selection", func(o *Output) { o.Selection = "" }, "empty"},
		{"selection that is not absolute", func(o *Output) { o.Selection = "gc=info" }, "damaged"},
		{"argument after the selection", func(o *Output) { o.Selection = "all=info disable" }, "damaged"},
		{"newline in the selection", func(o *Output) { o.Selection = "all=info\nGC.run" }, "damaged"},
		{"restoring would delete it", func(o *Output) { o.Selection = "all=off" }, "delete"},
		{"no decorators", func(o *Output) { o.Decorators = "" }, "decorators"},
		{"argument after the decorators", func(o *Output) { o.Decorators = "none rotate" }, "decorators"},
		{"short forms of decorators", func(o *Output) { o.Decorators = "u,l,tg" }, "decorators"},
		{"options", func(o *Output) { o.Options = "a b" }, "options"},
		{"long selection of an old JDK", func(o *Output) { o.Selection += strings.Repeat(",gc*=info", 30) }, "JDK 17"},
	} {
		o := good
		c.change(&o)
		got, err := Configure(o, ask.Selection{})
		if err == nil || got != (Command{}) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the command is %q, error %v; want an error with %q", c.name, got, err, c.want)
		}
	}
	if _, err := Configure(good, ask.Selection{}); err != nil {
		t.Error(err)
	}
	if _, err := Configure(Output{Err: broken}, ask.Selection{}); !errors.Is(err, broken) {
		t.Errorf("%v does not wrap the output's error", err)
	}
}

func TestConfigureKeepsTheLimitOfTheProtocol(t *testing.T) {
	o := Output{Name: "file=", Selection: "all=off,gc=info", Decorators: "none"}
	raise := parsed(t, "gc*=trace,safepoint*=trace")
	line := func(o Output) int {
		return len(fmt.Sprintf(`VM.log output="%s" what=%s,%s decorators=%s`, o.Name, o.Selection, raise, o.Decorators))
	}
	o.Name += strings.Repeat("x", MaxCommand-line(o))
	if c, err := Configure(o, raise); err != nil || len(c.String()) != MaxCommand {
		t.Errorf("the command has %d bytes, error %v; want %d bytes and no error", len(c.String()), err, MaxCommand)
	}
	o.Name += "x"
	if _, err := Configure(o, raise); err == nil || !strings.Contains(err.Error(), "the command has 1025 bytes, but the JVM accepts at most 1024") {
		t.Errorf(`got the error %v, want "the command has 1025 bytes, but the JVM accepts at most 1024" in it`, err)
	}
	if _, err := Configure(o, ask.Selection{}); err != nil {
		t.Errorf("an output that cannot be raised must still be restorable: %v", err)
	}
}

func TestConfigureKeepsSelectionsSmall(t *testing.T) {
	o := Output{Name: "stdout", Selection: "all=off" + strings.Repeat(",gc=info", 15), Decorators: "none", Options: "foldmultilines=false"}
	raise := parsed(t, strings.Repeat("gc,", 15)+"gc")
	if _, err := Configure(o, raise); err != nil {
		t.Error(err)
	}
	o.Selection += ",gc=info"
	if _, err := Configure(o, raise); err == nil || !strings.Contains(err.Error(), "have 33 items, at most 32 are safe for the JVM") {
		t.Errorf(`got the error %v, want "have 33 items, at most 32 are safe for the JVM" in it`, err)
	}
	o.Selection += strings.Repeat(",gc=info", 50)
	if _, err := Configure(o, ask.Selection{}); err != nil {
		t.Errorf("an output must be restorable as listed: %v", err)
	}
}

func TestTheCommandsOfAnAdoption(t *testing.T) {
	o := Output{Name: "file=/l/gc-%p.log", Decorators: ask.OutputDecorators, Options: ask.OutputOptions}
	cmd, err := Create(o, parsed(t, "gc*=debug,safepoint"))
	if want := `VM.log output="file=/l/gc-%p.log" what=gc*=debug,safepoint=info decorators=time,uptime,level,tags output_options=filecount=5,filesize=0`; err != nil || cmd.String() != want {
		t.Errorf("got %s, %v; want %s", cmd, err, want)
	}
	cmd, err = Delete(o.Name)
	if want := `VM.log output="file=/l/gc-%p.log" what=all=off`; err != nil || cmd.String() != want {
		t.Errorf("got %s, %v; want %s", cmd, err, want)
	}
}

// Names and options that a JVM could misread are not sent, and stdout is not deleted.
func TestNoOtherOutputIsCreatedOrDeleted(t *testing.T) {
	good := Output{Name: "file=/l/gc.log", Decorators: ask.OutputDecorators, Options: ask.OutputOptions}
	for _, name := range []string{"", "stdout", "stderr", "#2", "file=", `file=/l" what=all=off`, "file=/l\nVM.log disable", `file=/l\`, "file=" + strings.Repeat("x", MaxCommand)} {
		if cmd, err := Delete(name); err == nil {
			t.Errorf("delete %q: the command is %s, want an error", name, cmd)
		}
		o := good
		o.Name = name
		if cmd, err := Create(o, parsed(t, "gc")); err == nil {
			t.Errorf("create %q: the command is %s, want an error", name, cmd)
		}
	}
	for name, spoil := range map[string]func(*Output){
		"decorators": func(o *Output) { o.Decorators = "level what=all" },
		"options":    func(o *Output) { o.Options = "filecount=5 disable" },
		"no options": func(o *Output) { o.Options = "" },
		"an error":   func(o *Output) { o.Err = errors.New("damaged") },
	} {
		o := good
		spoil(&o)
		if cmd, err := Create(o, parsed(t, "gc")); err == nil {
			t.Errorf("%s: the command is %s, want an error", name, cmd)
		}
	}
	if cmd, err := Create(good, ask.Selection{}); err == nil {
		t.Errorf("without a selection: the command is %s, want an error", cmd)
	}
}
