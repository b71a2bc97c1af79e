package ask

import "testing"

func TestWhoOwnsAPod(t *testing.T) {
	for _, c := range []struct{ kind, name, hash, want string }{
		{"ReplicaSet", "web-5f7", "5f7", "deployment/web"},
		{"ReplicaSet", "web-5f7", "", "replicaset/web-5f7"},
		{"ReplicaSet", "web-5f7", "66c", "replicaset/web-5f7"},
		{"ReplicaSet", "-5f7", "5f7", "replicaset/-5f7"},
		{"StatefulSet", "db-5f7", "5f7", "statefulset/db-5f7"},
		{"", "", "", "/"},
	} {
		if kind, name := Owner(c.kind, c.name, map[string]string{"pod-template-hash": c.hash}); kind+"/"+name != c.want {
			t.Errorf("%s %s with the hash %q: the owner is %s/%s, want %s", c.kind, c.name, c.hash, kind, name, c.want)
		}
	}
	if kind, name := Owner("ReplicaSet", "web-5f7", map[string]string{"rollouts-pod-template-hash": "5f7"}); kind+"/"+name != "rollout/web" {
		t.Errorf(`the owner of an Argo Rollout's pod is %s/%s, want "rollout/web"`, kind, name)
	}
}
