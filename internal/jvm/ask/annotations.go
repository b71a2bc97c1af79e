package ask

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/loggers"
)

// Names of the annotations that take effect while a pod runs. The table of docs/pods.md is made from
// the comments.
const (
	logName        = "log"         // [raises the log level](levels.md) to this selection
	logForName     = "log-for"     // how long a raise lasts: by default `15m`
	logStreamName  = "log-stream"  // raises only the outputs whose stream matches this pattern
	logIDName      = "log-id"      // any text of at most 64 letters, digits and the characters `-_./`. A new id starts a new raise of the same selection
	triggerName    = "trigger"     // [conditions](levels.md#triggers) that raise the log level, separated by commas
	triggerLogName = "trigger-log" // what a trigger raises to: by default `gc*=debug,safepoint*=debug`
	triggerForName = "trigger-for" // how long a trigger's raise lasts
	saveName       = "save"        // any text, as for `log-id`; each new value saves the lines that are [held](hindsight.md)
	appLogName     = "app-log"     // raises the level of the application's own [events](events.md#levels-at-run-time), of all loggers or of some
	appLogForName  = "app-log-for" // how long a raise of the application's events lasts: by default `15m`
	appLogIDName   = "app-log-id"  // any text, as for `log-id`; a new id starts a new raise of the same levels
	Adopt          = "adopt"       // gives JVMs without an output into the source [an output](levels.md#adopt) with this selection; `off`: none
)

// Live returns the names, without [Prefix], of the annotations that take
// effect while a pod runs.
func Live() []string {
	return []string{logName, logForName, logIDName, logStreamName, triggerName, triggerLogName, triggerForName, saveName, appLogName, appLogForName, appLogIDName, Adopt}
}

const defaultTriggerLog = "gc*=debug,safepoint*=debug"

// Bounds on what is reported.
const (
	maxProblems = 20
	maxValue    = 64   // bytes of Problem.Value
	maxText     = 1024 // bytes of Problem.Text, which may quote a selection
)

// MaxID bounds the annotation log-id, in bytes.
const MaxID = 64

// Problem is a bad annotation. Problems are comparable.
type Problem struct {
	// Key is the annotation's key, with [Prefix]. It is the prefix alone if
	// there are too many annotations or they are too long.
	Key string

	// Value is the annotation's value, made printable and shortened to at most
	// 64 bytes.
	Value string

	// Text says what is wrong and how to correct it.
	Text string
}

// Request has what the live annotations ask for. Requests are comparable. The zero value asks
// for nothing.
type Request struct {
	// Log is the raise that is wanted, for 15 min by default. Zero: none.
	Log Raise

	// Trigger holds the conditions on which the sidecar raises by itself. Zero:
	// never.
	Trigger Trigger

	// TriggerLog is the raise of the trigger: by default, gc*=debug,safepoint*=debug for 15 min. It
	// names no stream and has no ID. It is zero if Trigger is zero.
	TriggerLog Raise

	// Save asks, with each new value, to save the lines that are held in hindsight. Empty: no lines
	// are saved.
	Save string

	// SaveBad reports a problem with the annotation save. Save is then empty.
	SaveBad bool

	// AppLog has the lowest levels of the application's events that are wanted, by logger, whatever
	// the application's own settings are. Zero: no raise. AppLogFor and AppLogID are the duration
	// and the ID, as for Log. They are zero if AppLog is zero.
	AppLog    loggers.Levels
	AppLogFor time.Duration
	AppLogID  string

	// Adopted is the selection for JVMs without an output into the source, if SaysAdopted is true.
	// If it is zero, they are given no output. If SaysAdopted is false, the sidecar's own setting
	// applies.
	Adopted     Selection
	SaysAdopted bool

	// AdoptedBad reports a problem with the annotation adopt.
	AdoptedBad bool

	// LogBad, TriggerBad and AppLogBad report a problem with an annotation of a group: log,
	// log-for, log-id and log-stream; trigger, trigger-log and trigger-for; or app-log, app-log-for
	// and app-log-id. The fields of that group are then zero, and the raise in effect continues.
	LogBad, TriggerBad, AppLogBad bool
}

// entry is the value of one key.
type entry struct {
	value string
	bad   string // why the value could not be read; empty: it was read
}

// ParseRequest interprets a pod's annotations and ignores annotations without [Prefix]. known holds
// the names, without the prefix, of valid annotations that are not live. Any other annotation with
// the prefix is a problem, but does not make a group bad. An empty value has the same effect as no
// annotation. The problems are sorted by key. If there are more than 20, problems of live
// annotations come first, and the last problem says how many are omitted.
func ParseRequest(annotations map[string]string, known []string) (Request, []Problem) {
	ours := map[string]entry{}
	for key, value := range annotations {
		if strings.HasPrefix(key, Prefix) {
			ours[key] = entry{value: value}
		}
	}
	return interpret(ours, known, nil)
}

// interpret interprets annotations whose keys all have Prefix. problems has the problems found so
// far.
func interpret(ours map[string]entry, known []string, problems []Problem) (Request, []Problem) {
	p := &problemList{problems: problems}
	var req Request

	before := len(p.problems)
	sel := readLive(p, ours, logName, "", ParseSelection)
	length := readLive(p, ours, logForName, DefaultFor.String(), parseFor)
	id := readLive(p, ours, logIDName, "", parseID)
	stream := readLive(p, ours, logStreamName, "", ParseStream)
	if req.LogBad = len(p.problems) > before; !req.LogBad && !sel.IsZero() {
		req.Log = Raise{Selection: sel, Stream: stream, For: length, ID: id}
	}

	before = len(p.problems)
	trigger := readLive(p, ours, triggerName, "", ParseTrigger)
	sel = readLive(p, ours, triggerLogName, defaultTriggerLog, ParseSelection)
	length = readLive(p, ours, triggerForName, DefaultFor.String(), parseFor)
	if req.TriggerBad = len(p.problems) > before; !req.TriggerBad && !trigger.IsZero() {
		req.Trigger, req.TriggerLog = trigger, Raise{Selection: sel, For: length}
	}

	before = len(p.problems)
	levels := readLive(p, ours, appLogName, "", loggers.Parse)
	length = readLive(p, ours, appLogForName, DefaultFor.String(), parseFor)
	id = readLive(p, ours, appLogIDName, "", parseID)
	if req.AppLogBad = len(p.problems) > before; !req.AppLogBad && !levels.IsZero() {
		req.AppLog, req.AppLogFor, req.AppLogID = levels, length, id
	}

	before = len(p.problems)
	req.Save = readLive(p, ours, saveName, "", parseID)
	req.SaveBad = len(p.problems) > before

	before = len(p.problems)
	req.Adopted = readLive(p, ours, Adopt, "", ParseAdopted)
	req.AdoptedBad = len(p.problems) > before
	req.SaysAdopted = !req.AdoptedBad && strings.TrimSpace(ours[Prefix+Adopt].value) != ""

	checkOthers(p, ours, known)
	return req, p.sorted()
}

// readLive parses one live annotation. If it is invalid, or missing without a
// default, readLive returns the zero value.
func readLive[T any](p *problemList, ours map[string]entry, name, byDefault string, parse func(string) (T, error)) T {
	var zero T
	key := Prefix + name
	e := ours[key]
	text := cmp.Or(strings.TrimSpace(e.value), byDefault)
	if e.bad != "" {
		p.add(key, e.value, e.bad)
		return zero
	}
	if text == "" {
		return zero
	}
	v, err := parse(text)
	if err != nil {
		p.add(key, e.value, err.Error())
		return zero
	}
	return v
}

func parseFor(text string) (time.Duration, error) {
	d, err := settings.ParseDuration(text)
	if err != nil || d < MinFor || d > MaxRaise {
		return 0, errors.New("not a duration from 1s to 24h; write it like 90s, 15m or 1h30m")
	}
	return d, nil
}

func parseID(text string) (string, error) {
	if len(text) > MaxID || strings.IndexFunc(text, notInKey) >= 0 {
		return "", fmt.Errorf("not an ID: use at most %d letters, digits and the characters -_./", MaxID)
	}
	return text, nil
}

// checkOthers finds the problems of annotations that are not live.
func checkOthers(p *problemList, ours map[string]entry, known []string) {
	live := Live()
	names := slices.Concat(live, known)
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		name, e := key[len(Prefix):], ours[key]
		switch {
		case slices.Contains(live, name):
		case len(p.problems) >= maxProblems && (e.bad != "" || !slices.Contains(known, name)):
			p.more++ // without searching for a similar name
		case e.bad != "":
			p.add(key, e.value, e.bad)
		case slices.Contains(known, name):
		default:
			p.add(key, e.value, "unknown annotation"+settings.DidYouMean(name, Prefix, names))
		}
	}
}

// problemList collects problems. Problems of live annotations are added first, so that they are not
// omitted.
type problemList struct {
	problems []Problem
	more     int // problems omitted
}

func (p *problemList) add(key, value, text string) {
	p.problems = append(p.problems, Problem{Key: printable.Escaped(key, maxKey), Value: printable.Escaped(value, maxValue), Text: printable.Escaped(text, maxText)})
}

func (p *problemList) sorted() []Problem {
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return cmp.Compare(a.Key, b.Key) })
	if p.more > 0 {
		p.problems[len(p.problems)-1].Text += fmt.Sprintf(" (and %d more annotations with problems are not listed)", p.more)
	}
	return p.problems
}
