package chart

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Each claim gets a CronJob, in the claim's namespace, with the user of the sidecars.
func TestAClaimIsPruned(t *testing.T) {
	text, err := template(t, `prune: [{namespace: shop, claim: logs, runAsUser: 1000, runAsGroup: 1001}, {namespace: shop, claim: a.long-name-of-a-claim-that-a-person-has-chosen, runAsUser: 7, runAsGroup: 7, olderThan: 24h, keepBytes: 5Gi, schedule: "@daily"}]`)
	if err != nil {
		t.Fatal(err)
	}
	jobs := all[batchv1.CronJob](decode(t, text))
	if len(jobs) != 2 || jobs[0].Name == jobs[1].Name {
		t.Fatalf("there are %d CronJobs, or two of the same name; want 2 with different names", len(jobs))
	}
	for i, want := range []struct {
		claim, schedule, age string
		user, group          int64
		args                 int
	}{
		{"logs", "17 3 * * *", "--older-than=168h", 1000, 1001, 4},
		{"a.long-name-of-a-claim-that-a-person-has-chosen", "@daily", "--older-than=24h", 7, 7, 5},
	} {
		j := jobs[i]
		pod := j.Spec.JobTemplate.Spec.Template
		c, s := pod.Spec.Containers[0], pod.Spec.SecurityContext
		// The name of a Job is 11 characters longer than that of its CronJob.
		if bad := validation.IsDNS1123Label(j.Name); len(bad) > 0 || len(j.Name) > 52 || j.Namespace != "shop" || j.Spec.Schedule != want.schedule {
			t.Errorf("%s in %s at %s: %q; want a valid name of at most 52 characters, in shop at %s", j.Name, j.Namespace, j.Spec.Schedule, bad, want.schedule)
		}
		if len(c.Args) != want.args || c.Args[0] != "prune" || c.Args[1] != "--yes" || c.Args[2] != want.age || c.Args[len(c.Args)-1] != c.VolumeMounts[0].MountPath {
			t.Errorf("the arguments are %q; want %d that begin with prune --yes %s and end with %s", c.Args, want.args, want.age, c.VolumeMounts[0].MountPath)
		}
		if pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != want.claim || *s.RunAsUser != want.user || *s.RunAsGroup != want.group || !*s.RunAsNonRoot {
			t.Errorf("the volumes are %+v, the security context is %+v; want the claim %s, user %d, group %d and RunAsNonRoot", pod.Spec.Volumes, s, want.claim, want.user, want.group)
		}
		if pod.Labels["ullage.dev/inject"] != "false" || *c.SecurityContext.AllowPrivilegeEscalation || !*c.SecurityContext.ReadOnlyRootFilesystem || len(c.SecurityContext.Capabilities.Drop) != 1 {
			t.Errorf("the labels are %v, the security context is %+v; want ullage.dev/inject=false, no escalation, a read-only root and 1 dropped capability", pod.Labels, c.SecurityContext)
		}
	}
}

// A claim with two kinds of sidecars has a CronJob for each kind. OpenShift's user IDs are large, and names may look like
// numbers.
func TestAClaimOfSeveralUsersIsPruned(t *testing.T) {
	text, err := template(t, `
imagePullSecrets: [{name: injector}]
sidecar: {imagePullSecrets: [{name: "123"}]}
policy: {locked: [dest]}
priorityClassName: "456"
prune:
- {namespace: "2024", claim: "1e3", runAsUser: 1000650000, runAsGroup: 1000650000}
- {namespace: "2024", claim: "1e3", runAsUser: 1000650001, runAsGroup: 1000650001, olderThan: 7d}
- {namespace: "2024", claim: "1e3", dir: logs/of.jvms, runAsUser: 1000650002, runAsGroup: 1000650002}
`)
	if err != nil {
		t.Fatal(err)
	}
	objects := decode(t, text)
	jobs := all[batchv1.CronJob](objects)
	if len(jobs) != 3 || jobs[0].Name == jobs[1].Name || jobs[1].Name == jobs[2].Name {
		t.Fatalf("there are %d CronJobs, or two of the same name; want 3 with different names", len(jobs))
	}
	for i, j := range jobs {
		args := j.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args
		if dir, want := args[len(args)-1], []string{"/volume", "/volume", "/volume/logs/of.jvms"}[i]; dir != want {
			t.Errorf("%s is pruned, want %s", dir, want)
		}
		job := j.Spec.JobTemplate.Spec
		pod := job.Template.Spec
		if s, user := pod.SecurityContext, 1000650000+int64(i); *s.RunAsUser != user || *s.RunAsGroup != user {
			t.Errorf("user %d, group %d; want %d for both", *s.RunAsUser, *s.RunAsGroup, user)
		}
		if len(pod.ImagePullSecrets) != 1 || pod.ImagePullSecrets[0].Name != "123" {
			t.Errorf(`the pull secrets are %v, want only "123"`, pod.ImagePullSecrets)
		}
		if j.Namespace != "2024" || pod.Volumes[0].PersistentVolumeClaim.ClaimName != "1e3" || *job.BackoffLimit != 1 || *job.ActiveDeadlineSeconds != 3600 {
			t.Errorf(`the Job is %+v; want the namespace 2024, the claim 1e3, a backoff limit of 1 and a deadline of 3600 s`, j)
		}
	}
	var cfg struct{ PullSecrets []string }
	if err := yaml.Unmarshal([]byte(sole[corev1.ConfigMap](t, ofRelease(objects)).Data["config.yaml"]), &cfg); err != nil || len(cfg.PullSecrets) != 1 || cfg.PullSecrets[0] != "123" {
		t.Errorf(`the configuration is %v, error %v; want only "123" in PullSecrets and no error`, cfg, err)
	}
}
