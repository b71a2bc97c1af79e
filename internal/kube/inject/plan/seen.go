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

// inTmp matches a path below /tmp in a text. The pattern written matches the options and redirections
// that write a file but do not read one: such a file is no reason for a warning.
var (
	inTmp   = regexp.MustCompile(`(?:^|[\s=:,@'"(])(/tmp/[^\s'":,;)]+)`)
	written = regexp.MustCompile(`(?:HeapDumpPath|ErrorFile|FlightRecorder\S*filename|java\.io\.tmpdir)=\S*|-Xlog\S*|-Xloggc:\S*|>>?\s*/tmp/\S*`)
)

// imageTmp returns a path in /tmp that the container names, or "". The image may have a file
// there, which a volume at /tmp would hide.
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

// java8 matches an image of JDK 8: its name is a JDK's and its tag is 8, or its tag names both JDK
// and 8. An application with java in its name and version 8 does not match.
var java8 = regexp.MustCompile(`(?i)(?:^|[/-])(?:java|openjdk|jdk|jre|temurin|amazoncorretto|corretto|zulu|liberica|sapmachine|semeru|dragonwell)` +
	`(?:-(?:openjdk|openjre|jdk|jre|alpine|debian|centos|runtime))*:(?:1\.)?8(?:[^0-9]|$)|:\S*-(?:jdk|jre)-?8(?:[^0-9]|$)`)

// version8 matches the JAVA_VERSION that images of JDK 8 set.
var version8 = regexp.MustCompile(`^(?:jdk-?)?(?:1\.)?8(?:[^0-9]|$)`)

// isJDK8 reports whether the pod shows that a container's JVM is JDK 8. Variables that the image
// sets are not visible in the pod.
func isJDK8(c *pod.Container) bool {
	i := pod.LastEnv(c.Container, "JAVA_VERSION")
	if i >= 0 && c.Env[i].Value != "" {
		return version8.MatchString(c.Env[i].Value)
	}
	return java8.MatchString(c.Image)
}

// otherLog matches an option that makes a JVM log: -Xloggc with its file, or
// -Xlog with its output after the selection.
var otherLog = regexp.MustCompile(`-Xloggc:([^\s'"]+)|-Xlog:[^\s:'"]*:(?:file=)?"?([^\s:'"]+)`)

// diskLog returns another log file of a JVM in c that is on a disk, for which the JVM would
// wait. It returns "" if the pod shows no such file.
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

// memoryDirs are the directories of a node that are usually on a tmpfs.
var memoryDirs = []string{"/dev/shm", "/run", "/var/run", "/dev"}

// forgetful reports whether a volume is a hostPath in the node's memory.
func forgetful(v *corev1.Volume) bool {
	return v != nil && v.HostPath != nil && slices.ContainsFunc(memoryDirs, func(dir string) bool { return pod.IsBelow(path.Clean(v.HostPath.Path), dir) })
}
