package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
)

// A valid saved state, with one raise and one baseline.
const soundState = `{"raises":{"annotation":{"selection":"gc*=debug","for":3600000000000,"since":"2026-11-21T08:00:00Z","until":"2026-11-21T09:00:00Z","reason":"annotation","why":"annotation ullage.dev/log","ended":""}},` +
	`"jvms":{"25:7:1795248000000000000":{"pid":1,"outputs":[{"Index":2,"Name":"file=/var/log/jvm/gc.log","Selection":"all=off,gc*=info","Decorators":"uptime,level,tags","Options":"filecount=5,filesize=0B,async=false","Reconfigured":false,"Err":null}],"applied":"gc*=debug","cause":"annotation"}}}`

var halfPastEight = time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, `,"%d":{"outputs":[]}`, i)
	}
	for name, c := range map[string]struct {
		old, new string // replace old by new in soundState
		whole    string // the state, instead of soundState
		raises   int
		jvms     int
		bad      string
	}{
		"sound":                        {raises: 1, jvms: 1},
		"nothing":                      {whole: "", raises: -1, bad: "decode"},
		"zeros":                        {whole: strings.Repeat("\x00", 100), raises: -1, bad: "decode"},
		"cut off":                      {whole: soundState[:300], raises: -1, bad: "decode"},
		"an array":                     {whole: "[]", raises: -1, bad: "decode"},
		"no raises":                    {whole: `{"raises":null,"jvms":{}}`, raises: -1, bad: "decode"},
		"null":                         {whole: "null", bad: ""},
		"an empty one":                 {whole: "{}", bad: ""},
		"a raise of 1000 h":            {old: "3600000000000", new: "3600000000000000", jvms: 1, bad: "raise is not sound"},
		"a raise of no length":         {old: `"for":3600000000000`, new: `"for":0`, jvms: 1, bad: "raise is not sound"},
		"a raise of negative length":   {old: `"for":3600000000000`, new: `"for":-1`, jvms: 1, bad: "raise is not sound"},
		"a raise to nothing":           {old: `{"selection":"gc*=debug"`, new: `{"selection":""`, jvms: 1, bad: "raise is not sound"},
		"a raise to off":               {old: `{"selection":"gc*=debug"`, new: `{"selection":"all=off"`, jvms: 1, bad: "raise is not sound"},
		"a raise of a stream":          {old: `{"selection":"gc*=debug"`, new: `{"selection":"gc*=debug","stream":"gc-*.log"`, raises: 1, jvms: 1},
		"a raise of no stream":         {old: `{"selection":"gc*=debug"`, new: `{"selection":"gc*=debug","stream":"../["`, jvms: 1, bad: "raise is not sound"},
		"a baseline of no stream":      {old: `"applied":`, new: `"stream":"a\nb","applied":`, raises: 1, bad: "baseline is not sound"},
		"a raise with an argument":     {old: `{"selection":"gc*=debug"`, new: `{"selection":"gc output=/etc/passwd"`, jvms: 1, bad: "raise is not sound"},
		"a baseline of nothing":        {old: `{"pid":1,`, new: `null,"x":{"pid":1,`, raises: 1, jvms: 1, bad: "baseline is not sound"},
		"another output's name":        {old: "file=/var", new: "socket=/var", raises: 1, bad: "baseline is not sound"},
		"a quote in a name":            {old: "gc.log", new: `gc\" what=all=off`, raises: 1, bad: "baseline is not sound"},
		"a newline in a name":          {old: "gc.log", new: `gc.log\n #1: x`, raises: 1, bad: "baseline is not sound"},
		"a selection that is invalid":  {old: "all=off,gc*=info", new: "gc*=info", raises: 1, bad: "baseline is not sound"},
		"a selection with an argument": {old: "all=off,gc*=info", new: "all=off,gc=info disable=true", raises: 1, bad: "baseline is not sound"},
		"off":                          {old: "all=off,gc*=info", new: "all=off", raises: 1, bad: "baseline is not sound"},
		"invalid decorators":           {old: "uptime,level,tags", new: "uptime disable=true", raises: 1, bad: "baseline is not sound"},
		"an error":                     {old: `"Err":null`, new: `"Err":{}`, raises: 1, bad: "baseline is not sound"},
		"applied that is no selection": {old: `"applied":"gc*=debug"`, new: `"applied":"gc*"`, raises: 1, jvms: 1},
		"applied with an argument":     {old: `"applied":"gc*=debug"`, new: `"applied":"x disable=true"`, raises: 1, bad: "baseline is not sound"},
		"10,000 baselines":             {old: `"cause":"annotation"}}`, new: `"cause":"annotation"}` + many.String() + "}", raises: 1, jvms: MaxJVMs, bad: "baseline is not sound"},
		"a time that does not exist":   {old: "T09:00", new: "T25:00", jvms: 1, bad: "raise is not sound"},
		"another type":                 {old: `"pid":1`, new: `"pid":"1"`, raises: 1, bad: "baseline is not sound"},
	} {
		text := c.whole
		if c.old != "" || c.raises+c.jvms == 2 && c.bad == "" {
			text = strings.Replace(soundState, c.old, c.new, 1)
		}
		s, err := Parse([]byte(text), halfPastEight)
		if c.raises < 0 {
			if s != nil || err == nil || !strings.Contains(err.Error(), c.bad) || strings.Contains(err.Error(), "%!") {
				t.Errorf("%s: the state is %+v, error %v; want no state and an error with %q", name, s, err, c.bad)
			}
			continue
		}
		if s == nil || len(s.Raises) != c.raises || len(s.JVMs) != c.jvms || (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s: the state is %+v, error %v; want %d raises, %d JVMs and an error with %q (no error if it is empty)", name, s, err, c.raises, c.jvms, c.bad)
			continue
		}
		if r, ok := s.Raises[FromAnnotation]; ok && r.Until.After(halfPastEight.Add(r.For)) {
			t.Errorf("%s: a raise for %s lasts until %s, want at most until %s", name, r.For, r.Until, halfPastEight.Add(r.For))
		}
	}
}

// The golden file was written by an earlier version. Reading and saving it changes nothing but the order of the
// fields of a raise.
func TestASavedStateOfAnEarlierVersionIsRead(t *testing.T) {
	saved, err := os.ReadFile("testdata/levels.json")
	must(t, err)
	s, err := Parse(saved, halfPastEight)
	must(t, err)
	at := halfPastEight.Add
	annotated := Raise{Raise: raiseTo(t, "gc*=debug,safepoint=trace", time.Hour), Since: at(-30 * time.Minute), Until: at(30 * time.Minute),
		Reason: "annotation", Why: "annotation ullage.dev/log"}
	annotated.Stream, annotated.ID = "gc-*.log", "a-B_c/d.9"
	shipped := attach.Output{Index: 2, Name: "file=/var/log/jvm/gc-%p.log", Selection: "all=off,gc*=info", Decorators: "uptime,level,tags", Options: "filecount=5,filesize=0B,async=false"}
	second, plain := shipped, shipped
	second.Index, second.Name, second.Selection, second.Reconfigured = 3, "file=/var/log/jvm/gc-b.log", "all=off,safepoint=info", true
	plain.Name, plain.Decorators = "file=/var/log/jvm/gc.log", "none"
	want := &State{
		Raises: map[Cause]Raise{
			FromAnnotation: annotated,
			FromCommand: {Raise: raiseTo(t, "all=warning", 15*time.Minute), Since: at(-10 * time.Minute), Until: at(5 * time.Minute),
				Reason: "command", Why: "ullage log set", Ended: "ullage log reset", By: "uid 1000, pid 77", EndedBy: "uid 1000"},
			FromTrigger: {Raise: raiseTo(t, "gc*=debug,safepoint*=debug", 2*time.Minute), Since: at(-time.Minute), Until: at(time.Minute),
				Reason: "io-stall", Why: "trigger: a pause of 300ms took only 20ms of CPU time"},
		},
		JVMs: map[string]*Baseline{
			"25:7:1795248000000000000": {PID: 1, Outputs: []attach.Output{shipped, second}, Stream: "gc-*.log", Applied: annotated.Selection, Cause: FromAnnotation, kept: true},
			"25:9:1795248000000000000": {PID: 9, Outputs: []attach.Output{plain}, Unsure: true, kept: true},
		},
		Adopted: map[string]*Adopted{}, // that version did not adopt
		App:     &AppRaise{loggers.Of(ul.Debug), time.Hour, at(time.Minute), "", ""},
		AppSet:  &AppRaise{loggers.Of(ul.Trace), time.Minute, at(30 * time.Second), "uid 1000, pid 78", ""}, AppLevels: loggers.Of(ul.Trace),
		Quiet: at(3 * time.Minute), Fired: true,
	}
	if !s.Same(want) {
		got, _ := json.Marshal(s)
		wanted, _ := json.Marshal(want)
		t.Errorf("the state that was read is\n%s\nwant\n%s", got, wanted)
	}
	again, err := json.Marshal(s)
	must(t, err)
	var was, is any
	must(t, errors.Join(json.Unmarshal(saved, &was), json.Unmarshal(again, &is)))
	if !reflect.DeepEqual(is, was) {
		t.Errorf("the state was saved again as %s, want the same content as %s", again, saved)
	}
}

func TestParseBoundsTheEndOfARaise(t *testing.T) {
	s, _ := Parse([]byte(strings.Replace(soundState, "2026-11-21T09:00:00Z", "9999-11-21T09:00:00Z", 1)), halfPastEight)
	if s == nil || s.Raises[FromAnnotation].Until.After(halfPastEight.Add(time.Hour)) {
		t.Errorf("the state is %+v, want a raise of the annotation until at most %s", s, halfPastEight.Add(time.Hour))
	}
}

func TestParseBoundsTheCoolDown(t *testing.T) {
	s, err := Parse([]byte(`{"quiet":"9999-01-01T00:00:00Z"}`), halfPastEight)
	if err != nil || !s.Quiet.Equal(halfPastEight.Add(2*ask.MaxRaise)) {
		t.Errorf("the state is %+v, error %v; want quiet until %s and no error", s, err, halfPastEight.Add(2*ask.MaxRaise))
	}
}

func TestWanted(t *testing.T) {
	until := func(d time.Duration) Raise { return Raise{Until: halfPastEight.Add(d)} }
	ended := Raise{Until: halfPastEight.Add(time.Hour), Ended: "why"}
	for _, c := range []struct {
		raises map[Cause]Raise
		want   Cause
	}{
		{nil, ""},
		{map[Cause]Raise{FromTrigger: until(1)}, FromTrigger},
		{map[Cause]Raise{FromTrigger: until(time.Hour), FromAnnotation: until(1)}, FromAnnotation},
		{map[Cause]Raise{FromTrigger: until(1), FromAnnotation: until(1), FromCommand: until(1)}, FromCommand},
		{map[Cause]Raise{FromTrigger: until(1), FromAnnotation: until(0), FromCommand: until(-1)}, FromTrigger},
		{map[Cause]Raise{FromTrigger: until(1), FromCommand: ended}, FromTrigger},
		{map[Cause]Raise{FromAnnotation: ended}, ""},
		{map[Cause]Raise{"whim": until(1)}, ""},
	} {
		if got, _, on := (&State{Raises: c.raises}).Wanted(halfPastEight); got != c.want || on != (c.want != "") {
			t.Errorf("of the raises %v, got the cause %q, wanted: %v; want the cause of this case", c.raises, got, on)
		}
	}
}

// FuzzParseState parses states that an application may have written.
func FuzzParseState(f *testing.F) {
	for _, text := range []string{"", "{}", "null", soundState, strings.ReplaceAll(soundState, "annotation", "command"),
		strings.Replace(soundState, "all=off", "all=trace", 1), `{"quiet":"0000-01-01T00:00:00+23:59"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text, halfPastEight)
		if (s == nil) == (err == nil) && s == nil {
			t.Fatal("got neither a state nor an error, want at least one of them")
		}
		if err != nil && strings.Contains(err.Error(), "%!") {
			t.Errorf("the error is badly formatted: %q", err)
		}
		if s == nil {
			return
		}
		if len(s.JVMs) > MaxJVMs || s.Quiet.After(halfPastEight.Add(2*ask.MaxRaise)) {
			t.Errorf("the state exceeds its bounds: %+v; want at most %d JVMs, and quiet until at most %s", s, MaxJVMs, halfPastEight.Add(2*ask.MaxRaise))
		}
		for _, r := range s.Raises {
			if err := r.Check(); err != nil || r.Until.After(halfPastEight.Add(r.For)) {
				t.Errorf("a raise is not sound: %+v, error %v; want no error and an end by %s", r, err, halfPastEight.Add(r.For))
			}
		}
		for _, b := range s.JVMs {
			for _, o := range b.Outputs {
				cmd, err := attach.Configure(o, ask.Selection{})
				if err != nil && !strings.Contains(err.Error(), "bytes") || strings.ContainsAny(cmd.String(), "\n\x00") {
					t.Errorf("for the output %+v, the command is %q, error %v; want one line, and no error except about bytes", o, cmd, err)
				}
			}
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := Parse(again, halfPastEight); err != nil || len(read.Raises) != len(s.Raises) || len(read.JVMs) != len(s.JVMs) {
			t.Errorf("%s reads back as %+v, error %v; want %d raises, %d JVMs and no error", again, read, err, len(s.Raises), len(s.JVMs))
		}
	})
}
