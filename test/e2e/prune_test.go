package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The chart's CronJob on a claim of two pods, of which one is gone: its directory
// goes, and the other pod's sidecar notices nothing.
func TestPruneBesideALivingSidecar(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.claim("logs")
	for _, name := range []string{"gone", "alive"} {
		s.apply(jvmPod{Name: name, JDK: 25, Annotations: map[string]string{"dest": "pvc:logs"}}.manifest())
	}
	for _, name := range []string{"gone", "alive"} {
		s.ready(name)
		s.eventually(time.Minute, "persisted lines of "+name, func() bool {
			out, err := s.tryExec(name, "ullage", "ullage", "cat", "/var/lib/ullage")
			return err == nil && strings.Contains(out, "[gc")
		})
	}
	s.kubectl("delete", "pod", "gone", "--wait=true")
	s.onNode("age", "/var/tmp/ullage-e2e/"+s.name+"-logs", "sh", "-c", "cd /node && find . -type f -exec touch -d '2020-01-01 00:00' {} +")

	cron := s.must(helm(append([]string{"template", release, chart, "-n", s.name, "--kube-version", "1.29.0", "--show-only", "templates/prune.yaml", "--set-json",
		fmt.Sprintf(`prune=[{"namespace":%q,"claim":"logs","runAsUser":1000,"runAsGroup":1000,"olderThan":"24h"}]`, s.name)}, chartValues()...)...))
	s.apply(cron)
	job := strings.TrimSpace(s.kubectl("get", "cronjobs", "-o", "jsonpath={.items[0].metadata.name}"))
	s.kubectl("create", "job", "now", "--from=cronjob/"+job)
	s.waitFor("job/now", "condition=Complete", 2*time.Minute)
	out := s.kubectl("logs", "job/now")
	if !strings.Contains(out, s.name+"/gone\n") || !strings.Contains(out, "removed: 1 directories") {
		t.Errorf("the job says:\n%s", out)
	}
	before := len(s.exec("alive", "ullage", "ullage", "cat", "/var/lib/ullage"))
	s.eventually(time.Minute, "more lines of the pod that lives", func() bool {
		return len(s.exec("alive", "ullage", "ullage", "cat", "/var/lib/ullage")) > before
	})
	if errors := s.kubectl("logs", "alive", "-c", "ullage"); strings.Contains(errors, "level=ERROR") {
		t.Errorf("the sidecar of the pod that lives:\n%s", errors)
	}
}

// A StatefulSet keeps its log on its own claims: through a rolling update, each
// pod goes on where the one of its name has stopped.
func TestAStatefulSetsOwnClaims(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	class := s.name + "-own"
	const parent = "/var/tmp/ullage-e2e/"
	open := "cd /node"
	for i := range 3 {
		name := fmt.Sprintf("%s-%d", class, i)
		s.must(kubectl(manifest(object{
			"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": name},
			"spec": object{"storageClassName": class, "accessModes": []any{"ReadWriteOnce"}, "capacity": object{"storage": "1Gi"},
				"persistentVolumeReclaimPolicy": "Retain", "hostPath": object{"path": parent + name, "type": "DirectoryOrCreate"}},
		}), "create", "-f", "-"))
		t.Cleanup(func() { _, _ = kubectl("", "delete", "pv", name, "--wait=false") })
		open += " && mkdir " + name + " && chmod 1777 " + name
	}
	s.onNode("open", parent, "sh", "-c", open)
	template := jvmPodOfADeployment(jvmPod{Name: "store", JDK: 25, Grace: 5, Annotations: map[string]string{"dest": "volume:data/logs"}})
	s.apply(manifest(object{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": object{"name": "store"},
		"spec": object{"replicas": 3, "podManagementPolicy": "Parallel", "selector": object{"matchLabels": object{"app": "store"}}, "template": template,
			"volumeClaimTemplates": []any{object{"metadata": object{"name": "data"}, "spec": object{
				"storageClassName": class, "accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "64Mi"}}}}}},
	}))
	// Each JVM says once, at its start, which collector it has.
	starts := func(i int) int {
		out, err := s.tryExec(fmt.Sprintf("store-%d", i), "ullage", "ullage", "cat", "/var/lib/ullage")
		if err != nil {
			return -1
		}
		return strings.Count(out, "] Using Serial")
	}
	for round := 1; round <= 2; round++ {
		s.kubectl("rollout", "status", "statefulset/store", "--timeout=3m")
		for i := range 3 {
			s.eventually(time.Minute, fmt.Sprintf("%d starts in the log of store-%d", round, i), func() bool { return starts(i) == round })
		}
		if round == 1 {
			s.kubectl("rollout", "restart", "statefulset/store")
		}
	}
}
