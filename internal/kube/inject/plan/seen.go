package plan

import (
	"cmp"
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/pod"
)

// inTmp is a path below /tmp in a text. What is written there is no reason for a warning: neither the
// option before the path nor a redirection reads it.
var (
	inTmp   = regexp.MustCompile(`(?:^|[\s=:,@'"(])(/tmp/[^\s'":,;)]+)`)
	written = regexp.MustCompile(`(?:HeapDumpPath|ErrorFile|FlightRecorder\S*filename|java\.io\.tmpdir)=\S*|-Xlog\S*|-Xloggc:\S*|>>?\s*/tmp/\S*`)
)

// imageTmp returns a path in /tmp that the container names: its image may have a file there,
// which a volume at /tmp would hide. Empty: nothing.
func imageTmp(c *pod.Container) string {
	if dir := path.Clean(c.WorkingDir); pod.IsBelow(dir, tmpDir) {
		return dir + ", its working directory"
	}
	for _, text := range c.Texts() {
		if found := inTmp.FindStringSubmatch(written.ReplaceAllString(text, "")); found != nil {
			return found[1]
		}
	}
	return ""
}

// java8 is an image of JDK 8: one that is a JDK by its name and 8 by its tag, or whose tag names both.
// The version of an application with java in its name does not count.
var java8 = regexp.MustCompile(`(?i)(?:^|[/-])(?:java|openjdk|jdk|jre|temurin|amazoncorretto|corretto|zulu|liberica|sapmachine|semeru|dragonwell)` +
	`(?:-(?:openjdk|openjre|jdk|jre|alpine|debian|centos|runtime))*:(?:1\.)?8(?:[^0-9]|$)|:\S*-(?:jdk|jre)-?8(?:[^0-9]|$)`)

// version8 is a value of JAVA_VERSION, as images of a JDK have it, of JDK 8.
var version8 = regexp.MustCompile(`^(?:jdk-?)?(?:1\.)?8(?:[^0-9]|$)`)

// isJDK8 reports whether the pod shows that a container's JVM is of JDK 8. The pod does not show
// what the image itself sets.
func isJDK8(c *pod.Container) bool {
	i := pod.LastEnv(c.Container, "JAVA_VERSION")
	if i >= 0 && c.Env[i].Value != "" {
		return version8.MatchString(c.Env[i].Value)
	}
	return java8.MatchString(c.Image)
}

// otherLog is an option that makes a JVM log: the old one for a file, or the
// new one, with its output after the selection.
var otherLog = regexp.MustCompile(`-Xloggc:([^\s'"]+)|-Xlog:[^\s:'"]*:(?:file=)?"?([^\s:'"]+)`)

// diskLog returns another log file of a JVM in c, on a disk that the JVM then
// waits for; empty: the pod shows none.
func diskLog(c *pod.Container) string {
	for _, text := range c.Texts() {
		for _, found := range otherLog.FindAllStringSubmatch(text, -1) {
			file := cmp.Or(found[1], found[2])
			if file != "stdout" && file != "stderr" && !attach.OnNoDisk(file) && !pod.IsBelow(path.Dir(file), logDir) && !c.InMemory(path.Dir(file)) {
				return file
			}
		}
	}
	return ""
}

// memoryDirs are directories of a node that are a tmpfs.
var memoryDirs = []string{"/dev/shm", "/run", "/var/run", "/dev"}

// forgetful says that a volume is a directory of the node that is in memory.
func forgetful(v *corev1.Volume) bool {
	return v != nil && v.HostPath != nil && slices.ContainsFunc(memoryDirs, func(dir string) bool { return pod.IsBelow(path.Clean(v.HostPath.Path), dir) })
}
