package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/jvm/handover"
)

// withheld are rights that doctor and adopt use but the roles do not grant.
var withheld = []string{"create pods", "get pods/proxy", "update pods/ephemeralcontainers"}

// TestTheRolesOfPeopleOnCallAreWhatTheCommandsNeed runs every command that reaches a cluster and compares the rights
// for its calls of kubectl with deploy/oncall.yaml: the roles must grant each of them and no others.
func TestTheRolesOfPeopleOnCallAreWhatTheCommandsNeed(t *testing.T) {
	granted, dir := grantedRights(t), t.TempDir()
	t.Setenv("FAKE", dir)
	t.Setenv("BROWSER", "true")
	t.Chdir(t.TempDir()) // where the report is written
	const (
		workload = `{"metadata":{"name":"web","namespace":"prod"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"spec":{"containers":[{"name":"app"}]}}}}`
		owned    = `{"kind":"Pod","metadata":{"name":"web-0","namespace":"prod","ownerReferences":[{"kind":"KIND","name":"web","controller":true}]},"spec":{"initContainers":[{"name":"ullage","image":"ullage","args":["run","--dest=/durable"]}]},"status":{"phase":"Running","containerStatuses":[{"name":"app","ready":true,"restartCount":1}],"initContainerStatuses":[{"name":"ullage","state":{"running":{}}}]}}`
	)
	record := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record("web-0.ullage.out", `{"ready":true,"levels":{"jvms":[{"pid":1,"outputs":["file=a.log"]}]}}`)
	record("report.out", `{}`)
	record("port-forward.err", "error: it need not listen")
	record("namespace.out", `{"metadata":{"name":"prod"}}`)
	record("create.out", `{}`)
	record("mutatingwebhookconfigurations.out", `{"items":[{"metadata":{"name":"ullage-injector"},"webhooks":[{"name":"`+hookName+`","clientConfig":{"service":{"namespace":"ullage-system","name":"ullage-injector"}}}]}]}`)
	record("injectors.out", `{"items":[{"metadata":{"name":"ullage-injector-0"},"status":{"phase":"Running","containerStatuses":[{"name":"injector","ready":true}]}}]}`)

	run := func(args ...string) {
		e := cli.Env{Program: program, FlagsOnly: true, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), LookupEnv: os.LookupEnv}
		dispatch(t.Context(), args, e)
	}
	for kind := range kinds {
		if kind == podKind {
			continue
		}
		pod := strings.Replace(owned, "KIND", kind, 1)
		record("get.out", `{"items":[`+pod+`]}`)
		record("pod.out", pod)
		record(strings.Split(target{kind, "web"}.arg(), "/")[0]+".out", workload)
		run("status", kind+"/web")
		run("doctor", kind+"/web")
	}
	for _, command := range []string{"levels web-0 gc=debug", "levels web-0 --reset", "status", "status -A", "top", "logs web-0", "check web-0", "pauses web-0", "open web-0", "report web-0", "incident web-0", "doctor", "doctor web-0"} {
		run(strings.Fields(command)...)
	}
	record("auth.out", "yes\n")
	record("pod.adopted", `{"metadata":{"name":"web-0","namespace":"prod"},"status":{"ephemeralContainerStatuses":[{"name":"NAME","state":{"running":{}}}]}}`)
	record("pod.out", `{"metadata":{"name":"web-0","namespace":"prod"},"spec":{"securityContext":{"runAsUser":1,"runAsGroup":1},"containers":[{"name":"app"}]},"status":{"containerStatuses":[{"name":"app","state":{"running":{}}}]}}`)
	var copied bytes.Buffer
	if err := handover.Write(&copied, t.TempDir(), nil, func() (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	record("fetch.out", copied.String())
	run("adopt", "web-0", "--image=ullage")
	record("get.out", `{"items":[]}`) // a workload without pods: doctor tries a new one
	run("doctor", "deploy/web")

	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for call := range strings.Lines(string(calls)) {
		used = append(used, rights(t, strings.Fields(call))...)
	}
	want := slices.Concat(granted, withheld)
	slices.Sort(want)
	slices.Sort(used)
	if d := cmp.Diff(slices.Compact(used), want); d != "" {
		t.Errorf("the rights that the commands use (-) differ from those in deploy/oncall.yaml and withheld (+):\n%s", d)
	}
}

// rights returns the rights that a call of kubectl needs, as "get pods", or with a group as "get deployments.apps".
func rights(t *testing.T, call []string) []string {
	t.Helper()
	call = slices.DeleteFunc(call, func(a string) bool { return strings.HasPrefix(a, "--") && a != "--raw" })
	switch call[0] {
	case "exec":
		return []string{"get pods", "get pods/exec", "create pods/exec"}
	case "port-forward":
		return []string{"get pods", "get pods/portforward", "create pods/portforward"}
	case "logs":
		return []string{"get pods", "get pods/log"}
	case "annotate":
		return []string{"get pods", "patch pods"}
	case "create":
		return []string{"create pods"}
	case "auth": // every user may query their own rights
		return nil
	case "replace":
		return []string{"update pods/ephemeralcontainers"}
	case "get":
		if call[1] == "--raw" && strings.HasSuffix(call[2], "/proxy/status") {
			return []string{"get pods/proxy"}
		}
		kind, _, named := strings.Cut(call[1], "/")
		kind, _, _ = strings.Cut(kind, ".")
		if !named {
			kind += map[string]string{"mutatingwebhookconfigurations": ".admissionregistration.k8s.io"}[kind]
			return []string{"list " + kind}
		}
		if k, known := kinds[kind]; known {
			kind = strings.TrimSuffix(k.plural+"."+k.group, ".")
		} else {
			kind += "s"
		}
		return []string{"get " + kind}
	}
	t.Fatalf("a call whose rights this test does not know: %q", call)
	return nil
}

// grantedRights returns the rights in deploy/oncall.yaml.
func grantedRights(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/oncall.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role struct {
			Kind  string
			Rules []struct{ APIGroups, Resources, Verbs []string }
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil || role.Kind != "ClusterRole" {
			t.Fatalf(`the document is a %q, error %v, want "ClusterRole"`, role.Kind, err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all = append(all, strings.TrimSuffix(verb+" "+resource+"."+group, "."))
					}
				}
			}
		}
	}
	return all
}
