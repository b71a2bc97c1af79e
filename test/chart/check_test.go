package chart

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/test/lab"
)

// The hook's Job checks exactly the settings with which the injectors start.
func TestTheHookChecksTheInjectorsOwnSettings(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) {
		hook := ofHook(objects, "pre-install,pre-upgrade")
		if r.name == "bare" {
			if len(hook) != 0 {
				t.Errorf("with check.enabled false, the chart has the hook's objects %v, want none", hook)
			}
			return
		}
		serves := sole[appsv1.Deployment](t, objects).Spec.Template.Spec.Containers[0]
		job := sole[batchv1.Job](t, hook)
		checks := job.Spec.Template.Spec.Containers[0]
		if serves.Args[0] != "serve" || checks.Args[0] != "check" || !slices.Equal(serves.Args[1:], checks.Args[1:]) || serves.Image != checks.Image || fmt.Sprint(serves.Env) != fmt.Sprint(checks.Env) {
			t.Errorf("the injector is %s %q with %v; the check is %s %q with %v; want serve and check, otherwise the same", serves.Image, serves.Args, serves.Env, checks.Image, checks.Args, checks.Env)
		}
		given, config := sole[corev1.ConfigMap](t, hook), injectorsConfig(t, objects)
		if given.Data["config.yaml"] != config || job.Spec.Template.Spec.Volumes[0].ConfigMap.Name != given.Name || !isMounted(checks, "/etc/ullage/config.yaml") {
			t.Errorf("the check reads\n%s\nthe injector\n%s\nwant the same configuration, mounted from the check's own ConfigMap", given.Data, config)
		}
		if job.Spec.Template.Labels["ullage.dev/inject"] != "false" {
			t.Error("the Job's pod may be injected, want ullage.dev/inject=false")
		}
	})
}

// injectorsConfig returns the text of the injector's configuration.
func injectorsConfig(t *testing.T, objects []object) string {
	t.Helper()
	name := sole[appsv1.Deployment](t, objects).Name
	for _, m := range all[corev1.ConfigMap](objects) {
		if m.Name == name {
			return m.Data["config.yaml"]
		}
	}
	t.Fatal("the injector has no ConfigMap, want one")
	return ""
}

// Bad values are found before anything is rolled out, by the program that the hook runs and CI can run.
func TestBadValuesAreFoundBeforeTheRollOut(t *testing.T) {
	program, err := lab.Build(t.TempDir(), "ullage-injector")
	if err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]string{
		"{}": "",
		"sidecar: {defaults: {xlog: 'gc*=debgu'}}":            "debgu",
		"policy: {max: {buffer: 32Mi}}":                       "policy: max: buffer: the default, 64Mi, is over 32Mi",
		"sidecar: {resources: {requests: {memory: 256Mi}}}":   "the request of memory, 256Mi, is over its limit, 64Mi",
		"sidecar: {defaults: {listen: '9919'}}":               "listen",
		"certificates: {lifetime: 1s}":                        "--certificate-lifetime",
		"extraArgs: [--loud]":                                 "unknown flag --loud",
		"extraEnv: [{name: ULLAGE_LOG_LEVEL, value: loud}]":   "", // the chart's flag wins
		"extraEnv: [{name: ULLAGE_SHUTDOWN_DELAY, value: x}]": "ULLAGE_SHUTDOWN_DELAY",
		"certificates: {certManager: {enabled: true}}":        "",
	} {
		text, err := template(t, values)
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		cmd := exec.Command(program, "check", "-f", "-")
		cmd.Stdin, cmd.Env = strings.NewReader(text), os.Environ()
		out, err := cmd.CombinedOutput()
		if want == "" {
			if err != nil {
				t.Errorf("%s: the check ended with %v, want no error: %s", values, err, out)
			}
			continue
		}
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: exit %d, want 2 and %q: %s", values, cmd.ProcessState.ExitCode(), want, out)
		}
	}
}

// An autoscaler controls the number of replicas only if no upgrade sets it.
func TestReplicasCanBeLeftToAnAutoscaler(t *testing.T) {
	for values, want := range map[string]string{"{}": "2", "replicas: 0": "0", "replicas: null": "none"} {
		text, err := template(t, values)
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		got := "none"
		if n := sole[appsv1.Deployment](t, decode(t, text)).Spec.Replicas; n != nil {
			got = fmt.Sprint(*n)
		}
		if got != want {
			t.Errorf("%s: replicas are %s, want %s", values, got, want)
		}
	}
}

// Helm would notice two CronJobs of one name only when it creates the second one.
func TestTwoCronJobsOfOneNameAreRefused(t *testing.T) {
	const entry = "{namespace: shop, claim: logs, runAsUser: 1000, runAsGroup: 1000"
	for values, want := range map[string]string{
		entry + "}, " + entry + ", schedule: '1 1 * * *'}":           "entry 2 and entry 1 are about the same claim",
		entry + "}, " + entry + ", dir: other}":                      "",
		entry + "}, " + strings.Replace(entry, "shop", "b", 1) + "}": "",
	} {
		_, err := template(t, "prune: ["+values+"]")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q (none if that is empty)", values, err, want)
		}
	}
}

// With one endpoint for each name of a port, Prometheus would examine every port of every pod once per endpoint.
func TestThePodMonitorIsOneJobOverInjectedPods(t *testing.T) {
	text, err := template(t, `podMonitor: {enabled: true, relabelings: [{targetLabel: cluster, replacement: a}], metricRelabelings: [{sourceLabels: [__name__], regex: "go_.*", action: drop}]}`)
	if err != nil {
		t.Fatal(err)
	}
	m := sole[monitor](t, decode(t, text))
	if m.Kind != "PodMonitor" || m.Spec.Selector.MatchLabels["ullage.dev/injected"] != "true" || len(m.Spec.Selector.MatchLabels) != 1 {
		t.Errorf(`a %s selects %v, want a PodMonitor that selects only the label ullage.dev/injected=true`, m.Kind, m.Spec.Selector)
	}
	if len(m.Spec.Pods) != 1 || len(m.Spec.Pods[0].Relabelings) != 2 {
		t.Fatalf("endpoints %+v, want one with two relabellings", m.Spec.Pods)
	}
	e := m.Spec.Pods[0]
	if r := e.Relabelings[0]; e.Port != "" || r.Action != "keep" || r.Regex != "ullage-metrics[2-8]?" || !slices.Equal(r.SourceLabels, []string{"__meta_kubernetes_pod_container_port_name"}) {
		t.Errorf("the endpoint has the port %q and the relabelling %+v; want no port, and to keep the ports whose names match ullage-metrics[2-8]?", e.Port, r)
	}
	if e.Relabelings[1].Replacement != "a" || len(e.MetricRelabelings) != 1 {
		t.Errorf(`the values' relabellings are %+v and %+v, want the replacement "a" and 1 metric relabelling`, e.Relabelings[1], e.MetricRelabelings)
	}
}
