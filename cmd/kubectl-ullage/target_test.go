package main

import (
	"strings"
	"testing"
	"time"
)

func TestTargetsAreWrittenAsForKubectl(t *testing.T) {
	for arg, want := range map[string]string{
		"web-0": "pod/web-0", "pod/web-0": "pod/web-0", "pods/web-0": "pod/web-0", "po/web-0": "pod/web-0",
		"deploy/web": "deployment/web", "deployments/web": "deployment/web", "deployments.apps/web": "deployment/web", "deployment.v1.apps/web": "deployment/web",
		"sts/db": "statefulset/db", "ds/agent": "daemonset/agent", "job/x": "job/x", "jobs.batch/x": "job/x", "cj/x": "cronjob/x",
		"rollout/web": "rollout.argoproj.io/web", "ro/web": "rollout.argoproj.io/web", "rollouts.argoproj.io/web": "rollout.argoproj.io/web", "rollouts.v1alpha1.argoproj.io/web": "rollout.argoproj.io/web",
	} {
		if got, err := parseTarget(arg); err != nil || got.arg() != want {
			t.Errorf("%q: %s, %v; want %s", arg, got.arg(), err, want)
		}
	}
	for _, arg := range []string{"svc/web", "deploy/", "deploy/--all", "", "-", "--all", "-n", "Web", "web_0", "a/b/c", "/web", "pod/", "web-", "web\n", "pod/-x", strings.Repeat("a", 254),
		"deployments.batch/web", "rollouts.kruise.io/web", "pods.x/web", "deployments.v1.apps.x/web"} {
		if got, err := parseTarget(arg); err == nil {
			t.Errorf("%q is parsed as %s, want an error", arg, got)
		}
	}
}

func TestOfAWorkloadTheOldestReadyPodWithASidecarIsTaken(t *testing.T) {
	made := func(name string, age time.Duration, sidecar, running, ready bool) pod {
		var p pod
		p.Metadata.Name, p.Metadata.Created = name, noon.Add(-age)
		p.Status.ContainerStatuses = []containerStatus{{Name: "app", Ready: ready}}
		if sidecar {
			p.Spec.InitContainers = []container{{Name: "ullage", Image: "ullage"}}
		}
		if running {
			st := containerStatus{Name: "ullage"}
			st.State.Running = &struct{}{}
			p.Status.InitContainerStatuses = []containerStatus{st}
		}
		return p
	}
	pods := []pod{
		made("young", time.Minute, true, true, true),
		made("old", time.Hour, true, true, true),
		made("unready", 2*time.Hour, true, true, false),
		made("down", 3*time.Hour, true, false, true),
		made("bare", 4*time.Hour, false, false, true),
	}
	if got := (cluster{}).best(pods, true).Metadata.Name; got != "bare" {
		t.Errorf("of %d pods, a command that prefers a pod without a sidecar takes %s, want bare", len(pods), got)
	}
	for _, want := range []string{"old", "young", "unready", "down", "bare"} {
		got := cluster{}.best(pods, false).Metadata.Name
		if got != want {
			t.Fatalf("of %d pods, best takes %s, want %s", len(pods), got, want)
		}
		var rest []pod
		for _, p := range pods {
			if p.Metadata.Name != got {
				rest = append(rest, p)
			}
		}
		pods = rest
	}
}
