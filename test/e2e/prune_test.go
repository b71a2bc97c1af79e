package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Two pods use a claim, and one of them is deleted. The chart's CronJob removes the directory of the deleted pod
// and does not disturb the other pod's sidecar.
func TestPruneBesideALivingSidecar(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	makeClaim(s, "logs")
	for _, name := range []string{"gone", "alive"} {
		s.apply(jvmPod{Name: name, JDK: 25, Annotations: map[string]string{"dest": "pvc:logs"}}.manifest())
	}
	for _, name := range []string{"gone", "alive"} {
		s.ready(name)
		s.eventually(time.Minute, "persisted lines of "+name, func() bool {
			out, err := s.tryExec(name, "ullage", "ullage", "logs", "/var/lib/ullage")
			return err == nil && strings.Contains(out, "[gc")
		})
	}
	s.kubectl("delete", "pod", "gone", "--wait=true")
	onNode(s, nodes[0], "sh", "-c", "cd /node/"+s.name+"-logs && find . -type f -exec touch -d '2020-01-01 00:00' {} +")

	cron := s.must(helm(append([]string{"template", release, chart, "-n", s.name, "--kube-version", "1.29.0", "--show-only", "templates/prune.yaml", "--set-json",
		fmt.Sprintf(`prune=[{"namespace":%q,"claim":"logs","runAsUser":1000,"runAsGroup":1000,"olderThan":"24h"}]`, s.name)}, chartValues()...)...))
	s.apply(cron)
	job := strings.TrimSpace(s.kubectl("get", "cronjobs", "-o", "jsonpath={.items[0].metadata.name}"))
	s.kubectl("create", "job", "now", "--from=cronjob/"+job)
	s.waitFor("job/now", "condition=Complete", 2*time.Minute)
	out := s.kubectl("logs", "job/now")
	if !strings.Contains(out, s.name+"/gone\n") || !strings.Contains(out, "removed: 1 directory") {
		t.Errorf("want %q and \"removed: 1 directory\" in the output of the job:\n%s", s.name+"/gone\n", out)
	}
	before := len(s.exec("alive", "ullage", "ullage", "logs", "/var/lib/ullage"))
	s.eventually(time.Minute, "more lines of the other pod are persisted", func() bool {
		return len(s.exec("alive", "ullage", "ullage", "logs", "/var/lib/ullage")) > before
	})
	if errors := s.kubectl("logs", "alive", "-c", "ullage"); strings.Contains(errors, "level=ERROR") {
		t.Errorf("the other pod's sidecar logged errors, want no \"level=ERROR\" in its log:\n%s", errors)
	}
}

// A StatefulSet keeps the durable copies on its own claims, with volume:NAME/DIR, and goes through a rolling update.
// Each pod continues its predecessor's copy, which in the end has every line of both pods once.
func TestAStatefulSetsOwnClaims(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const replicas = 3
	class := s.name + "-own"
	for i := range replicas {
		makeVolume(s, fmt.Sprintf("%s-%d", class, i), class)
	}
	jvm := jvmPod{
		Name: "store", JDK: 25, Restart: "Always", Java: steady,
		Annotations: map[string]string{"dest": "volume:data/logs"},
	}
	store := workload("StatefulSet", jvm, class)
	spec := store["spec"].(object)
	spec["replicas"], spec["podManagementPolicy"] = replicas, "Parallel"
	// The reference output is on the same claim.
	pod := spec["template"].(object)["spec"].(object)
	delete(pod, "volumes")
	pod["containers"].([]any)[0].(object)["volumeMounts"] = []any{object{"name": "data", "mountPath": "/ref"}}
	s.apply(manifest(store))

	for life, file := range []string{"gc.log", "gc.log.0"} { // each JVM writes gc.log; the second JVM renames the file of the first
		s.kubectl("rollout", "status", "statefulset/store", "--timeout=3m")
		for i := range replicas {
			pod := fmt.Sprintf("store-%d", i)
			until(s, pod, "app", fmt.Sprintf("life %d of %s", life+1, pod), "[ -e /ref/"+file+" ]")
			awaitLogging(s, pod)
		}
		if life == 0 {
			s.kubectl("rollout", "restart", "statefulset/store")
		}
	}
	s.kubectl("delete", "statefulset/store", "--cascade=foreground", "--timeout=2m")
	for i := range replicas {
		data := readVolume(s, s.field(fmt.Sprintf("pvc/data-store-%d", i), ".spec.volumeName"))
		bothLives(s.T, data, filepath.Join(data, "logs", s.name, fmt.Sprintf("store-%d", i)), sameBytes)
	}
}
