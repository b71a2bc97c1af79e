// Package wish reads the settings of an injection: the pod's annotations, the defaults of its
// namespace and of the cluster ([Config]), and the [Policy] that bounds the annotations. The
// code that checks a flag of `ullage run` also checks the annotation of that name. The package
// does not look at a pod's containers and volumes.
package wish

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/sidecar"
)

// Wishes are what a pod's annotations and the defaults ask for.
type Wishes struct {
	Containers []string // empty: the pod names none
	Xlog       string
	Variable   Variable // for the JVMs' options

	Buffer  settings.Size
	Events  settings.Size // of the ring of each JVM; 0: no ring
	Dest    Destination
	Attach  attach.Mode // never Auto
	Listen  string      // empty: the default
	Sidecar sidecar.Config

	Container  Container
	SinkSecret string // the name of the sinks' Secret; empty: none

	Raise    bool // raise the memory limit of the JVM's container by the size of the tmpfs
	NoScrape bool // no annotations for Prometheus
	Perfdata bool // the JVM keeps its file of counters, even on a disk

	// Set has the flags that were asked for, by name, except flags that have a field above.
	Set map[string]string

	// Deny means that a pod that cannot be injected must not start.
	Deny bool

	Warnings []string

	// Problems are sentences, each of which names an annotation and says how to write it. If there
	// are any, the pod must not be injected.
	Problems []string
}

// Read reads the annotations of a pod in the namespace. It ignores annotations without our
// prefix.
func Read(annotations map[string]string, namespace string, cfg Config) Wishes {
	r := reader{annotations: annotations, defaults: cfg.defaultsIn(namespace), policy: cfg.Policy, ignored: map[string]string{}}
	w := Wishes{Deny: cfg.OnError == Deny, Set: map[string]string{}}
	fs := flagsOf(&w.Sidecar)
	r.checkNames(fs)
	w.readFlags(fs, &r)
	w.readJVM(&r)
	w.readVolumes(&r)
	w.readWays(&r)
	var warnings []string
	w.Container, warnings = readContainer(&r, cfg, w.addedMemory())
	w.Warnings = append(w.Warnings, warnings...)
	w.readListen(&r)
	w.Container.Hatch, warnings = readHatch(&r)
	w.Warnings = append(w.Warnings, warnings...)
	for _, name := range slices.Sorted(maps.Keys(r.ignored)) {
		w.Warnings = append(w.Warnings, r.ignored[name])
	}
	w.Problems = r.problems
	return w
}

// readFlags reads every annotation that is named after a flag, with the code that
// checks the flag.
func (w *Wishes) readFlags(fs *flag.FlagSet, r *reader) {
	var args []string
	fs.VisitAll(func(f *flag.Flag) {
		v := r.value(f.Name)
		longest := maxValue
		if f.Name == "sink" {
			longest = maxURLs
		}
		switch {
		case v == "" || f.Name == Dest: // dest names a volume here, not a directory
		case f.Name == ask.Adopt && r.asked(ask.Adopt) == "" && r.value(Attach) == string(attach.Off): // the default is for JVMs that can be reached
		case slices.Contains(owned, f.Name):
			r.problem("%s%s: only the injector sets it: leave it out", ask.Prefix, f.Name)
		case len(v) > longest:
			r.problem("%s%s %.40q: it has %d bytes, at most %d are allowed", ask.Prefix, f.Name, v, len(v), longest)
		default:
			args = append(args, "--"+f.Name+"="+v)
			w.Set[f.Name] = v
		}
	})
	for _, err := range append(settings.Parse(fs, args, func(string) (string, bool) { return "", false }), w.Sidecar.Validate()...) {
		r.problem("%s", asAnnotation(fs, err))
	}
	delete(w.Set, Attach)
	delete(w.Set, Listen)
	// The sidecar reads the annotation itself, and notices when it is removed.
	if delete(w.Set, ask.Adopt); r.byDefault(ask.Adopt) != "" {
		w.Set[ask.Adopt] = r.byDefault(ask.Adopt)
	}
}

var flagName = regexp.MustCompile(`--([a-z][a-z-]*)`)

// asAnnotation replaces the names of flags in an error with those of annotations.
func asAnnotation(fs *flag.FlagSet, err error) string {
	return flagName.ReplaceAllStringFunc(err.Error(), func(text string) string {
		if name := text[2:]; fs.Lookup(name) != nil {
			return ask.Prefix + name
		}
		return text
	})
}

// readJVM reads which containers have JVMs and what the JVMs log.
func (w *Wishes) readJVM(r *reader) {
	var err error
	w.Containers, err = parseContainers(r.value(Containers))
	r.check(Containers, err)

	var warnings []string
	w.Xlog, warnings, err = parseXlog(cmp.Or(r.value(Xlog), defaultXlog))
	r.check(Xlog, err)
	for _, text := range warnings {
		w.Warnings = append(w.Warnings, ask.Prefix+Xlog+": "+text)
	}
	w.Variable, err = parseVariable(r.value(OptionsVariable))
	r.check(OptionsVariable, err)
}

// readVolumes reads the size of the tmpfs and where the durable copy is.
func (w *Wishes) readVolumes(r *reader) {
	var err error
	w.Buffer, err = parseBuffer(cmp.Or(r.value(Buffer), defaultBuffer))
	r.check(Buffer, err)
	if budget := w.Sidecar.Ship.Budget; err == nil && budget > w.Buffer {
		r.check("budget", fmt.Errorf("it is larger than the tmpfs, %s%s, which is %s", ask.Prefix, Buffer, w.Buffer))
	}
	w.Events, err = parseEvents(r.value(Events))
	r.check(Events, err)

	w.Dest, err = parseDestination(cmp.Or(r.value(Dest), "emptyDir"))
	r.check(Dest, err)
	if w.Dest.OnNode() && r.value("retain-bytes") == "" {
		w.retainLess(r.value("segment-bytes") == "", r.policy)
	}
}

// readWays reads how the JVM is reached, and the settings with two values.
func (w *Wishes) readWays(r *reader) {
	// auto is the default of the flag. The injector has to choose a way, and
	// shared-tmp needs no change of the pod's process namespace.
	if w.Attach = w.Sidecar.Levels.Attach.Mode; w.Attach == attach.Auto {
		w.Attach = attach.SharedTmp
	}
	if match := w.Sidecar.Ship.Tail.Match; !matches(match, "gc-1.log") || !matches(match, "gc-1.log.0") {
		r.check("match", errors.New("it does not match the JVM's files, gc-1.log and gc-1.log.0: write it like *.log*"))
	}
	var err error
	w.Perfdata, err = oneOf(cmp.Or(r.value(Perfdata), "off"), "leave", "off")
	r.check(Perfdata, err)
	w.Raise, err = oneOf(cmp.Or(r.value(RaiseMemoryLimit), "false"), "true", "false")
	r.check(RaiseMemoryLimit, err)
	w.NoScrape, err = oneOf(cmp.Or(r.value(ScrapeAnnotations), "on"), "off", "on")
	r.check(ScrapeAnnotations, err)
	w.SinkSecret, err = parseSecret(r.value(sinkSecretSetting))
	r.check(sinkSecretSetting, err)
}

// readListen reads the address at which the sidecar listens.
func (w *Wishes) readListen(r *reader) {
	w.Listen = r.value(Listen)
	if _, digits, err := net.SplitHostPort(w.Listen); err == nil && digits != "" && strings.Trim(digits, "0") == "" {
		r.check(Listen, errors.New("scrapers could not find it: write it like :9919, 127.0.0.1:9919 or off"))
	}
}

// Address returns the host and port to listen at.
func (w *Wishes) Address() (host string, port int) {
	host, digits, err := net.SplitHostPort(cmp.Or(w.Listen, w.Sidecar.Admin.Listen))
	if err != nil {
		return "", 0 // already reported as a problem
	}
	port, _ = strconv.Atoi(digits)
	return host, port
}

// Tmpfs returns the size of the tmpfs: the sum of the logs' buffer and the ring. A ring exists from the
// JVM's start to its end.
func (w *Wishes) Tmpfs() settings.Size { return min(w.Buffer, AsGoodAsNone) + w.Events }

// sinkMemory is the most that a sink adds to the resident memory of a sidecar: 10 MiB were measured for Kafka, and
// less for the others.
const sinkMemory = 12 * settings.Mi

// addedMemory returns what is added to the sidecar's memory limit: the memory of its sinks, and as much of
// the tmpfs as the spool and the lines made from events may take. The kernel charges memory of a tmpfs to
// the container that writes it first: the log to the JVM's container, the spool and these lines to the
// sidecar's.
func (w *Wishes) addedMemory() settings.Size {
	spooled := min(cmp.Or(w.Sidecar.Ship.Budget, w.Buffer), AsGoodAsNone)
	return spooled + sinkMemory*settings.Size(len(w.Sidecar.Sinks.URLs))
}

// Default retention in an emptyDir. It is small, since an emptyDir takes space on
// the node's disk and is deleted with the pod.
const (
	nodeRetain  = 256 * settings.Mi
	nodeSegment = 16 * settings.Mi
)

// retainLess sets the retention for an emptyDir if none was asked for.
func (w *Wishes) retainLess(segments bool, policy Policy) {
	cfg := &w.Sidecar.Ship.Segment
	if segments {
		cfg.SegmentBytes = nodeSegment
		w.Set["segment-bytes"] = cfg.SegmentBytes.String()
	}
	cfg.RetainBytes = policy.atMost("retain-bytes", max(nodeRetain, min(cfg.SegmentBytes, AsGoodAsNone/4)*4))
	w.Set["retain-bytes"] = cfg.RetainBytes.String()
}

// OnDisk returns how much of the node's disk the durable copy of one sidecar takes
// at most: the retained bytes, and two segments until the oldest is deleted. Zero
// means that there is no bound or that the copy is not on the node's disk.
func (w *Wishes) OnDisk() settings.Size {
	cfg := w.Sidecar.Ship.Segment
	if !w.Dest.OnNode() || cfg.RetainBytes == 0 || cfg.RetainBytes > AsGoodAsNone {
		return 0
	}
	return cfg.RetainBytes + 2*cfg.SegmentBytes
}
