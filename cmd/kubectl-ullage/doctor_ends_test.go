package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/mark"
)

// For an hour after a container was killed, the kill comes first among the errors of its pod.
func TestStatusNamesAKilledContainer(t *testing.T) {
	end := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	pods, err := parsePods([]byte(`{"kind":"Pod","status":{"containerStatuses":[{"name":"app","lastState":{"terminated":{"reason":"OOMKilled","exitCode":137,"finishedAt":"2026-11-20T10:00:00Z"}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = "container app ended with exit code 137 (OOMKilled)"
	if got := pods[0].killed(end.Add(59 * time.Minute)); got != want {
		t.Errorf("killed returned %q, want %q", got, want)
	}
	if got := pods[0].killed(end.Add(61 * time.Minute)); got != "" {
		t.Errorf("an hour later, killed returned %q, want nothing", got)
	}
	a := answer{of: sidecar{pod: "web-0", killed: want}}
	a.status.Ready = true
	if table := statusTable([]answer{a}, false); !strings.HasSuffix(table, "  "+want+"\n") {
		t.Errorf("want a row that ends with the kill, %q; got the table\n%s", want, table)
	}
}

// doctor reports only what Kubernetes recorded about the most recent end of a container.
func TestDoctorSaysHowAContainerEnded(t *testing.T) {
	for name, c := range map[string]struct{ limits, end, mark, text string }{
		"out of the memory of its limit": {`{"memory":"512Mi"}`, `{"reason":"OOMKilled","exitCode":137,"finishedAt":"2026-11-20T10:00:00Z"}`, markProblem,
			"container app ended at 2026-11-20T10:00:00Z, exit code 137 (OOMKilled), restarts 2: the kernel killed one of its processes for lack of memory; its limit is 512Mi"},
		"without a limit":    {`{}`, `{"reason":"OOMKilled","exitCode":137}`, markProblem, "it has no limit of its own"},
		"killed":             {`{}`, `{"reason":"Error","exitCode":137}`, markProblem, "SIGKILL, but the runtime saw no lack of memory"},
		"crashed":            {`{}`, `{"reason":"Error","exitCode":134}`, markProblem, "(Error), restarts 2: it crashed"},
		"out of its heap":    {`{}`, `{"exitCode":3}`, markNote, "(no reason given), restarts 2: a JVM with -XX:+ExitOnOutOfMemoryError exits this way"},
		"exited":             {`{}`, `{"reason":"Error","exitCode":1}`, markNote, "it exited by itself"},
		"stopped":            {`{}`, `{"reason":"Error","exitCode":143}`, "", ""},
		"completed":          {`{}`, `{"reason":"Completed","exitCode":0}`, "", ""},
		"lost by its node":   {`{}`, `{"reason":"ContainerStatusUnknown","exitCode":137,"finishedAt":null}`, markUnknown, "container app ended at an unknown time, exit code 137 (ContainerStatusUnknown), restarts 2: the kubelet does not know how"},
		"it has never ended": {`{}`, `null`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			pods, err := parsePods([]byte(fmt.Sprintf(`{"kind":"Pod","spec":{"containers":[{"name":"app","resources":{"limits":%s}}]},
				"status":{"containerStatuses":[{"name":"app","restartCount":2,"state":{"running":{}},"lastState":{"terminated":%s}},
				{"name":"ullage","lastState":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}}`, c.limits, c.end)))
			if err != nil {
				t.Fatal(err)
			}
			all := pods[0].ends(nil)
			if c.mark == "" {
				if len(all) != 0 {
					t.Errorf("the findings are %+v, want none", all)
				}
				return
			}
			if len(all) != 1 || all[0].mark != c.mark || !strings.Contains(all[0].text, c.text) {
				t.Errorf("the findings are %+v, want %s: %s", all, c.mark, c.text)
			}
		})
	}
}

// A JVM with -XX:-CreateCoredumpOnCrash crashes with exit code 1. Only the sidecar of its container knows about the
// crash report.
func TestDoctorTellsACrashFromAnExit(t *testing.T) {
	const injected = `"annotations":{"ullage.dev/injected":"{\"jvms\":[{\"container\":\"app\",\"sidecar\":\"ullage\"},{\"container\":\"other\",\"sidecar\":\"ullage-2\"}]}"}`
	end := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	crashed := func(at time.Time) admin.Status {
		var st admin.Status
		st.JVMCrashes, st.JVMEnd = 1, &admin.JVMEnd{At: at, PID: 1, How: mark.Crashed}
		return st
	}
	for name, c := range map[string]struct {
		metadata, sidecar string
		status            admin.Status
		mark, text        string
	}{
		"noticed as the container ended": {injected, "ullage", crashed(end.Add(4 * time.Second)), markProblem, "exit code 1 (Error), restarts 1: its JVM crashed"},
		"of a pod without the injector":  {"", "sidecar", crashed(end.Add(4 * time.Second)), markProblem, "its JVM crashed"},
		"of an earlier run":              {injected, "ullage", crashed(end.Add(-time.Hour)), markNote, "it exited by itself, or its JVM crashed: the sidecar has seen crash reports (1)"},
		"in another container":           {injected, "ullage-2", crashed(end.Add(4 * time.Second)), markNote, "it exited by itself"},
		"without a report":               {injected, "ullage", admin.Status{}, markNote, "it exited by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			pods, err := parsePods([]byte(`{"kind":"Pod","metadata":{` + c.metadata + `},"status":{"containerStatuses":[{"name":"app","restartCount":1,
				"lastState":{"terminated":{"reason":"Error","exitCode":1,"finishedAt":"2026-11-20T10:00:00Z"}}}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			all := pods[0].ends([]answer{{of: sidecar{container: container{Name: c.sidecar}}, status: c.status}})
			if len(all) != 1 || all[0].mark != c.mark || !strings.HasSuffix(all[0].text, c.text) {
				t.Errorf("the findings are %+v, want one with the mark %s that ends with: %s", all, c.mark, c.text)
			}
		})
	}
}

// A container that ended, was restarted and has ended again has two ends. The later end is reported.
func TestTheLastOfTwoEndsCounts(t *testing.T) {
	pods, err := parsePods([]byte(`{"kind":"Pod","status":{"containerStatuses":[{"name":"app",
		"state":{"terminated":{"reason":"OOMKilled","exitCode":137,"finishedAt":"2026-11-20T10:00:00Z"}},
		"lastState":{"terminated":{"reason":"Error","exitCode":1,"finishedAt":"2026-11-20T08:00:00Z"}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if all := pods[0].ends(nil); len(all) != 1 || !strings.Contains(all[0].text, "ended at 2026-11-20T10:00:00Z, exit code 137 (OOMKilled)") {
		t.Errorf(`the ends are %+v, want exactly one, with "ended at 2026-11-20T10:00:00Z, exit code 137 (OOMKilled)" in its text`, all)
	}
	if got, want := pods[0].killed(time.Date(2026, 11, 20, 10, 1, 0, 0, time.UTC)), "container app ended with exit code 137 (OOMKilled)"; got != want {
		t.Errorf("killed returned %q, want %q", got, want)
	}
}
