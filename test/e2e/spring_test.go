package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var paid = regexp.MustCompile(`(?m)order (\d+) is paid$`)

// With an annotation, one dependency and five lines of XML, a Spring Boot application logs into a ring. Its level is
// raised in the running pod. Then its JVM is killed, and each line whose log.info() had returned is persisted once, in
// order.
func TestSpringBootLogsEvents(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply(jvmPod{Name: "app", JDK: 25, After: linger, Grace: 1, Annotations: map[string]string{"events": "2Mi"}, Java: []string{
		"-XX:TieredStopAtLevel=1", "-Xmx96m", "-cp", "/app/spring:/app/spring/*", "Orders", "--logging.config=/app/spring/logback-spring.xml",
		"--spring.main.banner-mode=off", "--count=/ref/count",
	}}.manifest())
	s.ready("app")
	list := func() string {
		out, _ := s.tryExec("app", "ullage", "ullage", "levels", "list") // after an error, the caller tries again
		_, rings, _ := strings.Cut(out, "REFUSED")
		return rings
	}
	s.eventually(time.Minute, "the list has the ring of the application", func() bool { return strings.Contains(list(), "2.00 MiB") })
	annotate(s, "app", "ullage.dev/app-log=debug")
	s.eventually(2*time.Minute, "the application's level is raised", func() bool { return strings.HasSuffix(strings.TrimSpace(list()), " debug") })
	s.eventually(time.Minute, "a line at debug is persisted", func() bool {
		return strings.Contains(s.exec("app", "ullage", "ullage", "logs", "--level", "debug", "--since", "1m", "/var/lib/ullage"), " items")
	})
	s.exec("app", "app", "sh", "-c", "kill -9 $(pidof java)")
	returned, err := strconv.Atoi(strings.TrimSpace(s.exec("app", "app", "od", "-A", "n", "-t", "u8", "/ref/count")))
	if err != nil || returned < 100 {
		t.Fatalf("log.info() had returned for %d lines, %v, want at least 100", returned, err)
	}
	var found, last int
	s.eventually(time.Minute, "the last line is persisted", func() bool {
		found, last = 0, 0
		for _, m := range paid.FindAllStringSubmatch(s.exec("app", "ullage", "ullage", "logs", "/var/lib/ullage"), -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil || n <= last {
				t.Fatalf("order %s follows order %d, want ascending numbers", m[1], last)
			}
			found, last = found+1, n
		}
		return last >= returned
	})
	if found != last || last > returned+1 {
		t.Errorf("%d lines up to number %d, want each up to %d, and perhaps one more", found, last, returned)
	}
	figures.add("Spring Boot killed: lines that log.info() had returned from, and that are persisted", fmt.Sprintf("%d, %d", returned, found), "equal")
}
