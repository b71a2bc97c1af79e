package pause

import "bytes"

// oldFlags are the collectors, by the flags that JDK 8 logs at the beginning of each file.
var oldFlags = []struct {
	flag      []byte
	collector Collector
}{
	{[]byte("-XX:+UseConcMarkSweepGC"), CMS}, {[]byte("-XX:+UseG1GC"), G1}, {[]byte("-XX:+UseParallelGC"), Parallel},
	{[]byte("-XX:+UseParallelOldGC"), Parallel}, {[]byte("-XX:+UseSerialGC"), Serial},
}

// header reads a line at the beginning of a file. Each rotation begins a file with such lines:
//
//	OpenJDK 64-Bit Server VM (25.342-b07) for linux-amd64 JRE (1.8.0_342-b07), built on …
//	CommandLine flags: -XX:+PrintGC -XX:+UseG1GC
func (o *jdk8) header(line []byte) bool {
	if flags, ok := cutPrefix(line, flagsBegin); ok {
		for i := range oldFlags {
			if bytes.Contains(flags, oldFlags[i].flag) {
				o.collector = oldFlags[i].collector
				break
			}
		}
		return true
	}
	if !isHeader(line) {
		return false
	}
	_, version, ok := bytes.Cut(line, []byte(" JRE ("))
	if end := bytes.IndexByte(version, ')'); ok && end > 0 && end <= maxName {
		for _, c := range version[:end] {
			if c <= ' ' || c > '~' {
				return false
			}
		}
		o.version = string(version[:end])
		return true
	}
	return false
}

const flagsBegin = "CommandLine flags: "

// isHeader reports whether a line begins like the line with the version of JDK 8.
func isHeader(line []byte) bool {
	return bytes.HasPrefix(line, []byte("OpenJDK ")) || bytes.HasPrefix(line, []byte("Java HotSpot("))
}
