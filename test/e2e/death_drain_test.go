package e2e

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// A node is drained as in docs/pods.md: like a deletion, the eviction ends a pod while its JVM logs at a high rate. A
// pod of the same name continues with the same claims, on another node if possible. The first pod is on the last
// node: in the local cluster, no other test uses a second node.
func TestNodeIsDrained(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	makeClaims(s, "ReadWriteOnce", "logs", "ref")
	jvm := jvmPod{
		Name: "drained", JDK: 25, Restart: "Always", Java: much("600000"),
		Ref: "ref", Annotations: map[string]string{"dest": "pvc:logs", "xlog": muchLog},
	}
	set := workload("StatefulSet", jvm, classOf(s, "data"))
	spec := set["spec"].(object)["template"].(object)["spec"].(object)
	spec["tolerations"] = []any{object{"key": "ullage.dev/second", "operator": "Exists"}}
	spec["affinity"] = prefersNode(nodes[len(nodes)-1])
	s.apply(manifest(set))
	s.kubectl("rollout", "status", "statefulset/drained", "--timeout=2m")
	awaitLogging(s, "drained-0")

	node, uid := s.field("pod/drained-0", ".spec.nodeName"), s.field("pod/drained-0", ".metadata.uid")
	uncordon := func() { s.must(kubectl("", "uncordon", node)) }
	t.Cleanup(func() {
		uncordon()
		s.must(kubectl("", "label", "node", node, drained+"-"))
	})
	s.must(kubectl("", "label", "node", node, drained+"=true")) // sweep uncordons nodes with this label
	drain := []string{"drain", node, "--pod-selector=app=drained", "--timeout=2m"}
	if _, err := kubectl("", drain...); err == nil || !strings.Contains(err.Error(), "--delete-emptydir-data") {
		t.Errorf("kubectl drain without --delete-emptydir-data ended with %v, want an error that names the flag", err)
	}
	began := time.Now()
	s.must(kubectl("", append(drain, "--delete-emptydir-data")...))
	figures.add("node drained: eviction of a pod while its JVM logs", time.Since(began).Round(100*time.Millisecond).String(), "30 s")
	moves := sameMachine(s)
	if !moves {
		t.Log("no two nodes of the cluster share a disk: the pod continues on its node")
		uncordon()
	}
	s.eventually(time.Minute, "another pod exists", func() bool {
		now, err := s.try("get", "pod", "drained-0", "-o", "jsonpath={.metadata.uid}")
		return err == nil && now != uid
	})
	s.ready("drained-0")
	if now := s.field("pod/drained-0", ".spec.nodeName"); moves && now == node {
		t.Errorf("the pod is on %s again, want another node", now)
	}
	until(s, "drained-0", "app", "a second JVM", "[ -e /ref/gc.log.0 ]")
	awaitLogging(s, "drained-0")
	s.kubectl("delete", "statefulset/drained", "--cascade=foreground", "--timeout=2m")
	refs, dest := readClaims(s, "drained-0")
	bothLives(s.T, refs, dest, sameBytes)
}

// prefersNode returns the affinity of a pod that prefers a node.
func prefersNode(node string) object {
	term := object{"matchFields": []any{object{"key": "metadata.name", "operator": "In", "values": []any{node}}}}
	return object{"nodeAffinity": object{
		"preferredDuringSchedulingIgnoredDuringExecution": []any{object{"weight": 100, "preference": term}},
	}}
}

// sameMachine reports whether there are several nodes, all on one machine. Then each of them has the volumes'
// directories.
func sameMachine(s *space) bool {
	s.Helper()
	boots := strings.Fields(s.must(kubectl("", "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.bootID}")))
	return len(boots) > 1 && len(slices.Compact(boots)) == 1
}

// After a crash of the JVM, the durable copy has HotSpot's whole crash report in addition to the
// log.
func TestJVMCrashes(t *testing.T) {
	eachJDK(t, func(s *space, jdk int) {
		makeClaim(s, "logs", "ref")
		s.apply(jvmPod{
			Name: "app", JDK: jdk, Java: steady,
			Ref: "ref", Annotations: onClaim,
		}.manifest())
		s.ready("app")
		awaitLogging(s, "app")
		killer(s, "app")("SEGV", "java *")
		s.waitFor("pod/app", "jsonpath={.status.phase}=Failed", time.Minute)
		hasEnded(s, "app", "initContainerStatuses", "0 Completed")
		refs, dest := readClaims(s, "app")
		cutOff(s.T, referenceIn(s.T, refs), streamIn(s.T, dest, "gc-1.log"))
		report := streamIn(s.T, dest, "hs_err_pid1.log")
		if !bytes.HasPrefix(report, []byte("#\n# A fatal error has been detected by the Java Runtime Environment:\n")) ||
			!bytes.Contains(report, []byte("SIGSEGV")) || !bytes.HasSuffix(report, []byte("\nEND.\n")) {
			s.Errorf("the report is incomplete: %d bytes, from %.200q to %q", len(report), report, report[max(0, len(report)-200):])
		}
	})
}
