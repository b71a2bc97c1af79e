package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// replies are complete replies to VM.log list, from JVMs with outputs that have odd names and, on
// JDK 17, selections of 240 or more bytes.
var replies = []struct{ name, options string }{
	{"list-jdk17.txt", ""},
	{"list-jdk25.txt", "foldmultilines=false"},
}

func reply(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listOf returns a reply that lists the outputs in lines.
func listOf(lines ...string) string { return listHeader + strings.Join(lines, "\n") + "\n" }

// listed are the outputs that both JVMs of the replies have, in order.
var listed = []Output{
	{Name: "stdout", Selection: "all=warning", Decorators: "uptime,level,tags"},
	{Name: "stderr", Selection: "all=off", Decorators: "uptime,level,tags"},
	{Name: "file=/var/log/jvm/gc-%p.log", Selection: "all=off,gc*=debug,safepoint=debug", Decorators: "uptime,level,tags",
		Options: "filecount=2,filesize=0B,async=false", Reconfigured: true},
	{Name: "file=/var/log/jvm/o'dd.log", Selection: "all=off,gc=info", Decorators: "none"},
	{Name: "file=/var/log/jvm/a b:c.log", Selection: "all=off,gc=info,gc+heap=debug", Decorators: "utctime,tid"},
	{Name: "file=/var/log/jvm/a=b,#c.log", Selection: "all=off,gc*=info", Decorators: "timemillis,uptimenanos,hostname,pid"},
	{Name: "file=/var/log/jvm/x all=off none k=v (reconfigured)", Selection: "all=warning,gc*=trace,gc+ref=off"},
	{Name: `file=/var/log/jvm/back\sla\'sh.log`, Decorators: "none", Options: "filecount=0,filesize=20480K,async=false"},
	{Name: "file=/var/log/jvm/größe-日本-%t.log", Selection: "all=off,gc+heap*=debug"},
	{Name: "file=/var/log/jvm/bad\xff.log", Selection: "all=off,class*=trace,jit*=info,safepoint=info"},
	{Name: "file=/var/log/jvm/ lead and trail "},
	{Name: `file=/var/log/jvm/endslash\`, Err: errText("backslash at the end of its name")},
	{Name: "file=/var/log/jvm/tab\ttab", Err: errText("control character in its name")},
	{Name: "file=/var/log/jvm/two  spaces'' 'q'"},
	{Err: errText("does not end with a selection")}, // new\nline.log
	{Name: "file=/var/log/jvm/after"},
}

// errText stands for any error whose text contains it.
type errText string

func (e errText) Error() string { return string(e) }

func errTexts(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return strings.Contains(a.Error(), b.Error()) || strings.Contains(b.Error(), a.Error())
}

func TestParseListOfRealJVMs(t *testing.T) {
	for _, r := range replies {
		got, err := ParseList(reply(t, r.name))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range listed {
			want.Index = i
			if want.Name != "" {
				complete(&want, r.options)
			}
			if want.Name == "file=/var/log/jvm/bad\xff.log" && r.options == "" {
				want.Selection += ",cds+heap=info" // JDK 25 does not have this item
			}
			if diff := cmp.Diff(want, got[i], cmp.Comparer(errTexts)); diff != "" {
				t.Errorf("%s: #%d (- want, + got):\n%s", r.name, i, diff)
			}
		}
	}
}

// complete sets the fields that most of the outputs have in common.
func complete(o *Output, options string) {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	set(&o.Selection, "all=off,gc=info")
	set(&o.Decorators, "uptime,level,tags")
	if o.File() != "" {
		set(&o.Options, "filecount=5,filesize=20480K,async=false")
	}
	if options != "" {
		o.Options = strings.TrimSuffix(options+","+o.Options, ",")
	}
}

func TestParseListOfLongSelections(t *testing.T) {
	for _, c := range []struct{ reply, name, want string }{
		// The first of these selections lacks an item at its end, the second one in the middle. The
		// reply does not show that anything is missing.
		{"list-jdk17.txt", "lost-last", "its selection has 255 bytes, and JDK 17 may omit parts of a selection of 255 bytes or more"},
		{"list-jdk17.txt", "lost-inside", "its selection has 266 bytes"},
		// This selection is complete, but the reply does not show that either.
		{"list-jdk17.txt", "whole", "its selection has 255 bytes"},
		{"list-jdk17.txt", "joined", `item "liveness*=error=debug=stackmap*=info" of its selection is damaged`},
		{"list-jdk17.txt", "tagless", `item "promotion*=trace=info" of its selection is damaged`},
		{"list-jdk25.txt", "whole", ""},
	} {
		outputs, err := ParseList(reply(t, c.reply))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i, o := range outputs {
			if o.File() != "/var/log/jvm/"+c.name+".log" {
				continue
			}
			found = true
			if o.Index != i || o.Err == nil != (c.want == "") || o.Err != nil && !strings.Contains(o.Err.Error(), c.want) {
				t.Errorf("%s: %s: the output is %+v; want an error with %q", c.reply, c.name, o, c.want)
			}
		}
		if !found {
			t.Errorf("%s: there is no output %s", c.reply, c.name)
		}
	}
}

func TestParseListRefusesAnOutput(t *testing.T) {
	const tail = " uptime,level,tags filecount=5,filesize=20480K,async=false"
	for _, c := range []struct{ name, line, want string }{
		{"nothing but an index", "", "does not end with"},
		{"no decorators", "stdout all=off", "does not end with"},
		{"no selection", "stdout none", "does not end with"},
		{"space at the end", "stdout all=off none ", "does not end with"},
		{"two spaces", "stdout all=off  none", "does not end with"},
		{"text at the end", "stdout all=off none (changed)", "does not end with"},
		{"no name", "all=off none", "does not end with"},
		{"empty name", " all=off none", `output "" is neither`},
		{"unknown kind of output", "pipe=x all=off,gc=info none", "neither stdout, stderr nor a file"},
		{"no path", "file= all=off,gc=info none", "neither stdout, stderr nor a file"},
		{"double quote", `file=a"b all=off,gc=info` + tail, "double quote in its name"},
		{"carriage return", "file=a\r all=off,gc=info" + tail, "control character"},
		{"unknown decorator", "stdout all=off uptime,wall", "does not end with"},
		{"decorators out of order", "stdout all=off level,uptime", "does not end with"},
		{"decorator twice", "stdout all=off uptime,uptime", "does not end with"},
		{"endless decorators", "stdout all=off uptime" + strings.Repeat(",uptime", 1000), "does not end with"},
		{"none and a decorator", "stdout all=off none,uptime", "does not end with"},
		{"empty option", "stdout all=off none a=b,", "does not end with"},
		{"option without a value", "stdout all=off none a=", "does not end with"},
		{"option with a quote", "stdout all=off none a='b", "does not end with"},
		{"no level", "stdout all=off,gc none", "is damaged"},
		{"unknown level", "stdout all=loud none", "is damaged"},
		{"level in upper case", "stdout all=OFF none", "is damaged"},
		{"tag in upper case", "stdout all=off,GC=info none", "is damaged"},
		{"six tags", "stdout all=off,a+b+c+d+e+f=info none", "is damaged"},
		{"all not alone", "stdout all=off,all=info none", "is damaged"},
		{"comma at the end", "stdout all=off, none", "comma"},
		{"two commas", "stdout all=off,,gc=info none", "is damaged"},
		{"a file that is off", "file=x all=off" + tail, "make the JVM delete the output"},
	} {
		outputs, err := ParseList(listOf(" #0: " + c.line))
		if err != nil || len(outputs) != 1 || outputs[0].Err == nil || !strings.Contains(outputs[0].Err.Error(), c.want) {
			t.Errorf("%s: the outputs are %+v, error %v; want an error with %q", c.name, outputs, err, c.want)
		}
	}
}

func TestParseListIsNotFooledByNames(t *testing.T) {
	const stdout, stderr = " #0: stdout all=off none", " #1: stderr all=off none"
	const tail = "all=off,gc=info none filecount=5"
	for _, c := range []struct {
		name, path string
		want       string // of each output: its index, and ! if it has an error
	}{
		{"a whole line", " #9: stdout all=off none", "0 1 2 3"},
		{"newline", "a\nb", "0 1 2! 3"},
		{"newline at the end", "a\n", "0 1 2! 3"},
		{"newline after what looks like an end", "a all=off,gc=info none\nb", "0 1 2! 3"},
		{"the next output", "a all=off,gc=info none\n #3: file=b", "0 1 2 3! 3!"},
		{"an earlier output", "a all=off,gc=info none\n #0: stdout all=trace none\n #2: file=b", "0! 1 2! 0! 2! 3!"},
		{"no output of any place", "a all=off,gc=info none\n #77: file=b", "0 1 2 77! 3!"},
		{"another section", "a\n" + listHeader + " #0: stdout all=trace none\n", "0! 1 2! 0! 3!"},
	} {
		outputs, err := ParseList(listOf(stdout, stderr, " #2: file="+c.path+" "+tail, " #3: file=after "+tail))
		var got []string
		for _, o := range outputs {
			mark := ""
			if o.Err != nil {
				mark = "!"
			}
			got = append(got, fmt.Sprint(o.Index, mark))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, error %v; want %s", c.name, got, err, c.want)
		}
	}
}

func TestParseListFails(t *testing.T) {
	many := make([]string, maxOutputs+1)
	for i := range many {
		many[i] = fmt.Sprintf(" #%d: file=%d all=off,gc=info none", i, i)
	}
	if outputs, err := ParseList(listOf(many[:maxOutputs]...)); err != nil || len(outputs) != maxOutputs || outputs[maxOutputs-1].Err != nil {
		t.Errorf("got %d outputs, error %v; want %d, the last without an error, and no error", len(outputs), err, maxOutputs)
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no section"},
		{"refusal", "Invalid output index '#9'\n", "no section"},
		{"section inside a line", "x Log output configuration:\n #0: stdout all=off none\n", "no section"},
		{"empty section", listHeader, "does not begin with an output"},
		{"empty line", listOf("", " #0: stdout all=off none"), "does not begin with an output"},
		{"no index", listOf(" #: stdout all=off none"), "does not begin with an output"},
		{"zero before the index", listOf(" #00: stdout all=off none"), "does not begin with an output"},
		{"sign before the index", listOf(" #+0: stdout all=off none"), "does not begin with an output"},
		{"great index", listOf(" #65536: stdout all=off none"), "does not begin with an output"},
		{"too many outputs", listOf(many...), "more than 256 outputs"},
		{"too long", listOf(" #0: stdout all=off none") + strings.Repeat("\n", maxList), "at most 262144 are allowed"},
	} {
		outputs, err := ParseList(c.text)
		if err == nil || outputs != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the outputs are %+v, error %v; want an error with %q", c.name, outputs, err, c.want)
		}
	}
}

func TestOutputFile(t *testing.T) {
	for name, want := range map[string]string{"stdout": "", "stderr": "", "file=/a b": "/a b", "file=stdout": "stdout", "": ""} {
		if got := (Output{Name: name}).File(); got != want {
			t.Errorf("the file of %q is %q, want %q", name, got, want)
		}
	}
}
