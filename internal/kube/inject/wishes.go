package inject

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/sidecar"
)

// Bounds.
const (
	minBuffer     = settings.Mi // as of --budget
	defaultBuffer = "64Mi"
	maxJVMs       = 8    // containers of a pod
	maxValue      = 256  // bytes of what is set for a flag
	maxURLs       = 2048 // ... for sink, which may have several URLs
	maxText       = 600  // bytes of a warning or a problem, which may quote an annotation
	maxDenied     = 1000 // bytes of all problems together
)

// wishes are what a pod's annotations and the defaults ask for.
type wishes struct {
	containers []string // empty: not said
	xlog       string
	variable   string // for the JVMs' options

	// variableAsked says that somebody has named the variable.
	variableAsked bool

	buffer  settings.Size
	events  settings.Size // of the ring of each JVM; 0: there is none
	dest    destination
	attach  attach.Mode // never Auto
	listen  string      // empty: not said
	sidecar sidecar.Config

	container  containerWishes
	hatch      hatch
	sinkSecret string // the name of one for the sinks; empty: none

	raise    bool // the memory limit of the JVM's container, by the size of the tmpfs
	noScrape bool // no annotations for Prometheus
	perfdata bool // the JVM keeps its file of counters, wherever that is

	// set are the flags that were asked for, by name, without those that the
	// fields above are for.
	set map[string]string

	warnings []string
}

// Names of annotations that say how to inject. Some are flags as well, of which
// the value is the injector's to choose.
const (
	containerName = "container"
	xlogName      = "xlog"
	bufferName    = "buffer"
	eventsName    = "events"
	destName      = "dest"
	attachName    = "attach"
	listenName    = "listen"

	variableSetting = "options-variable"
	scrapeSetting   = "scrape-annotations"
	perfdataSetting = "perfdata"
	raiseSetting    = "raise-memory-limit"
	yieldSetting    = "yield-after"
)

// owned are flags that the injector alone sets.
var owned = append([]string{"source", "annotations", "jvm-tmp"}, ofPodAlone...)

// readWishes reads annotations, which have our prefix or are none of ours, and
// the defaults, which come without it. Each problem is a sentence that names
// the annotation and says how to write it. An empty value is the same as none.
func readWishes(annotations, defaults map[string]string, policy Policy) (wishes, []string) {
	w := wishes{sidecar: sidecar.DefaultConfig(), set: map[string]string{}}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	w.sidecar.Flags(fs)

	known := ask.AtAdmission()
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	_, found := ask.ParseRequest(annotations, known)
	var problems []string
	for _, p := range found {
		problems = append(problems, fmt.Sprintf("%s %q: %s", p.Key, p.Value, p.Text))
	}
	ignored := map[string]string{} // by setting: a warning
	value := func(name string) string {
		v, warning := policy.apply(name, strings.TrimSpace(annotations[ask.Prefix+name]), strings.TrimSpace(defaults[name]))
		if warning != "" {
			ignored[name] = warning
		}
		return v
	}
	problems = append(problems, w.readFlags(fs, value)...)
	problems = append(problems, w.readOwn(value, policy)...)
	asked := func(name string) string {
		if slices.Contains(policy.Locked, name) {
			value(name) // for its warning
			return ""
		}
		return strings.TrimSpace(annotations[ask.Prefix+name])
	}
	h, warnings, bad := readHatch(asked, func(name string) string { return strings.TrimSpace(defaults[name]) }, policy)
	w.hatch, w.warnings, problems = h, append(w.warnings, warnings...), append(problems, bad...)
	for _, name := range slices.Sorted(maps.Keys(ignored)) {
		w.warnings = append(w.warnings, ignored[name])
	}
	for i := range problems {
		problems[i] = printable.Text(problems[i], maxText)
	}
	return w, problems
}

// readFlags has every annotation that is named as a flag checked by the code
// that checks the flag.
func (w *wishes) readFlags(fs *flag.FlagSet, value func(string) string) []string {
	var args, problems []string
	fs.VisitAll(func(f *flag.Flag) {
		v := value(f.Name)
		switch {
		case v == "" || f.Name == destName: // dest names a volume here, not a directory
		case slices.Contains(owned, f.Name):
			problems = append(problems, fmt.Sprintf("%s%s: the injector sets it: leave it out", ask.Prefix, f.Name))
		case len(v) > longest(f.Name):
			problems = append(problems, fmt.Sprintf("%s%s %.40q: it has %d bytes, at most %d are allowed", ask.Prefix, f.Name, v, len(v), longest(f.Name)))
		default:
			args = append(args, "--"+f.Name+"="+v)
			w.set[f.Name] = v
		}
	})
	for _, err := range append(settings.Parse(fs, args, func(string) (string, bool) { return "", false }), w.sidecar.Validate()...) {
		problems = append(problems, asAnnotation(fs, err))
	}
	delete(w.set, attachName)
	delete(w.set, listenName)
	return problems
}

// longest is how many bytes the value of a flag may have.
func longest(flag string) int {
	if flag == "sink" {
		return maxURLs
	}
	return maxValue
}

var flagName = regexp.MustCompile(`--([a-z][a-z-]*)`)

// asAnnotation makes an error about flags one about annotations.
func asAnnotation(fs *flag.FlagSet, err error) string {
	return flagName.ReplaceAllStringFunc(err.Error(), func(text string) string {
		if name := text[2:]; fs.Lookup(name) != nil {
			return ask.Prefix + name
		}
		return text
	})
}

// readOwn reads the annotations that are no flags, and those that mean more
// than their flag.
func (w *wishes) readOwn(value func(string) string, policy Policy) []string {
	var problems []string
	check := func(name string, err error) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s%s %.80q: %s", ask.Prefix, name, value(name), err))
		}
	}
	var err error
	w.containers, err = parseContainers(value(containerName))
	check(containerName, err)

	var warnings []string
	w.xlog, warnings, err = parseXlog(cmp.Or(value(xlogName), defaultXlog))
	check(xlogName, err)
	for _, text := range warnings {
		w.warnings = append(w.warnings, ask.Prefix+xlogName+": "+text)
	}

	w.variable, err = parseVariable(cmp.Or(value(variableSetting), launcherVariable))
	check(variableSetting, err)
	w.variableAsked = value(variableSetting) != ""

	w.buffer, err = settings.ParseSize(cmp.Or(value(bufferName), defaultBuffer))
	if err != nil || w.buffer < minBuffer {
		err = fmt.Errorf("it is not a size of at least %s: write it like 64Mi", minBuffer)
	}
	check(bufferName, err)
	if budget := w.sidecar.Ship.Budget; err == nil && budget > w.buffer {
		check("budget", fmt.Errorf("it is larger than the tmpfs, %s%s, which is %s", ask.Prefix, bufferName, w.buffer))
	}

	w.events, err = parseEvents(value(eventsName))
	check(eventsName, err)

	w.dest, err = parseDestination(cmp.Or(value(destName), "emptyDir"))
	check(destName, err)
	if w.dest.onNode() && value("retain-bytes") == "" {
		w.retainLess(value("segment-bytes") == "", policy)
	}

	// What matters to a JVM is how it can be reached, and auto is the default of
	// the flag: shared-tmp then needs nothing of the pod.
	if w.attach = w.sidecar.Levels.Attach.Mode; w.attach == attach.Auto {
		w.attach = attach.SharedTmp
	}
	if match := w.sidecar.Ship.Tail.Match; !matches(match, "gc-1.log") || !matches(match, "gc-1.log.0") {
		check("match", errors.New("it leaves out the JVM's files, gc-1.log and gc-1.log.0: write it like *.log*"))
	}
	w.perfdata, err = oneOf(cmp.Or(value(perfdataSetting), "off"), "leave", "off")
	check(perfdataSetting, err)
	w.raise, err = oneOf(cmp.Or(value(raiseSetting), "false"), "true", "false")
	check(raiseSetting, err)
	w.noScrape, err = oneOf(cmp.Or(value(scrapeSetting), "on"), "off", "on")
	check(scrapeSetting, err)
	w.sinkSecret, err = parseSecret(value(sinkSecretSetting))
	check(sinkSecretSetting, err)
	w.readContainer(value, check)
	w.lowerRequests()
	w.listen = value(listenName)
	if _, digits, err := net.SplitHostPort(w.listen); err == nil && digits != "" && strings.Trim(digits, "0") == "" {
		check(listenName, errors.New("no scraper could find it: write it like :9919, 127.0.0.1:9919 or off"))
	}
	return problems
}

// oneOf reports which of two words it is.
func oneOf(text, one, other string) (isOne bool, err error) {
	if text != one && text != other {
		return false, fmt.Errorf("use %s or %s", one, other)
	}
	return text == one, nil
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil // which is a problem already
}

// parseContainers reads a list of names with commas between them. An empty text
// is an empty list.
func parseContainers(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	if len(names) > maxJVMs {
		return nil, fmt.Errorf("it names %d containers, at most %d are allowed", len(names), maxJVMs)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if names[i] == "" {
			return nil, errors.New("a name is empty: write it like app,worker")
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("it has %.80q twice: write it once", names[i])
		}
	}
	return names, nil
}

// address splits what to listen at, which is valid.
func (w wishes) address() (host string, port int) {
	host, digits, err := net.SplitHostPort(cmp.Or(w.listen, w.sidecar.Admin.Listen))
	if err != nil {
		return "", 0 // it was a problem
	}
	port, _ = strconv.Atoi(digits)
	return host, port
}

// environment returns the settings of the sidecar as variables, sorted.
func (w wishes) environment(more map[string]string) []corev1.EnvVar {
	all := maps.Clone(w.set)
	maps.Copy(all, more)
	var env []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(all)) {
		// The kubelet expands $(NAME), and reads $$ as $.
		env = append(env, corev1.EnvVar{Name: settings.EnvName(name), Value: strings.ReplaceAll(all[name], "$", "$$")})
	}
	return env
}
