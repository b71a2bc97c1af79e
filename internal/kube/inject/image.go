package inject

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// inTmp is a path below /tmp in a text. What is written there is no reason for a warning: neither the
// option before the path nor a redirection reads it.
var (
	inTmp   = regexp.MustCompile(`(?:^|[\s=:,@'"(])(/tmp/[^\s'":,;)]+)`)
	written = regexp.MustCompile(`(?:HeapDumpPath|ErrorFile|FlightRecorder\S*filename|java\.io\.tmpdir)=\S*|-Xlog\S*|-Xloggc:\S*|>>?\s*/tmp/\S*`)
)

// imageTmp returns what a container names in its /tmp that its image may have there, and that a
// volume at /tmp hides. Empty: nothing.
func imageTmp(c *corev1.Container) string {
	if dir := path.Clean(c.WorkingDir); isBelow(dir, tmpDir) {
		return dir + ", its working directory"
	}
	texts := slices.Concat(c.Command, c.Args)
	for _, e := range c.Env {
		texts = append(texts, e.Value)
	}
	for _, text := range texts {
		if found := inTmp.FindStringSubmatch(written.ReplaceAllString(text, "")); found != nil {
			return found[1]
		}
	}
	return ""
}

// java8 is an image of JDK 8: one that is a JDK by its name and 8 by its tag, or whose tag names both.
// The version of an application that has java in its name is none.
var java8 = regexp.MustCompile(`(?i)(?:^|[/-])(?:java|openjdk|jdk|jre|temurin|amazoncorretto|corretto|zulu|liberica|sapmachine|semeru|dragonwell)` +
	`(?:-(?:openjdk|openjre|jdk|jre|alpine|debian|centos|runtime))*:(?:1\.)?8(?:[^0-9]|$)|:\S*-(?:jdk|jre)-?8(?:[^0-9]|$)`)

// tooOld says what a container's JVM does with the options, if its image is one of JDK 8 by its tag.
func (w *wishes) tooOld(c *corev1.Container) string {
	switch {
	case !java8.MatchString(c.Image) || w.variable == noVariable:
		return ""
	case w.variable == launcherVariable:
		return fmt.Sprintf("the image of container %.80q, %.120s, looks like JDK 8, which does not read %s: nothing is logged: use JDK 17 or later, or opt the pod out", c.Name, c.Image, w.variable)
	}
	return fmt.Sprintf("the image of container %.80q, %.120s, looks like JDK 8, which does not start with the options in %s: use JDK 17 or later, or opt the pod out with the label %s: \"false\"",
		c.Name, c.Image, w.variable, ask.InjectLabel)
}

// memoryDirs are directories of a node that are a tmpfs.
var memoryDirs = []string{"/dev/shm", "/run", "/var/run", "/dev"}

// forgetful says that a volume is a directory of the node that is in memory.
func forgetful(v *corev1.Volume) bool {
	return v != nil && v.HostPath != nil && slices.ContainsFunc(memoryDirs, func(dir string) bool { return isBelow(path.Clean(v.HostPath.Path), dir) })
}

// undrained says that the sidecars of the pod get no time to persist what is left at its end.
func (p *pod) undrained() string {
	if grace := p.Spec.TerminationGracePeriodSeconds; grace == nil || *grace > 0 {
		return ""
	}
	return "the pod has terminationGracePeriodSeconds: 0: the sidecar is killed with the JVM, and the last lines are lost: set at least 1"
}
