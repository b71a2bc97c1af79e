package e2e

import (
	"fmt"
	"strings"
	"time"
)

const (
	// elsewhere is the namespace of the suite's helper pods: a test's namespace may not admit them.
	elsewhere = "default"

	// volumesDir is the directory on the nodes that contains the tests' volumes.
	volumesDir = "/var/tmp/ullage-e2e"
)

// helper returns the name of the pod on a node that runs the commands that a test's pods may not run. The pod
// runs as root, with the directory of the volumes at /node, and sees all processes of the node. It runs during the
// whole suite, because a pod takes seconds to start.
func helper(node string) string { return "ullage-e2e-on-" + strings.ReplaceAll(node, ".", "-") }

// nodes are the names of the cluster's nodes. Volumes are on the first node.
var nodes []string

// onThisMachine reports whether the nodes are processes of this machine.
func onThisMachine() bool { return nodes[0] == "local" }

// startHelpers starts a helper on each node.
func startHelpers() error {
	out, err := kubectl("", "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		return err
	}
	if nodes = strings.Fields(out); len(nodes) == 0 {
		return fmt.Errorf("the cluster has no nodes")
	}
	for _, node := range nodes {
		if _, err := kubectl("", "-n", elsewhere, "delete", "pod", helper(node), "--ignore-not-found", "--now"); err != nil {
			return err
		}
		if _, err := kubectl(helperPod(node), "-n", elsewhere, "create", "-f", "-"); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		if _, err := kubectl("", "-n", elsewhere, "wait", "pod/"+helper(node), "--for=condition=Ready", "--timeout=1m"); err != nil {
			return err
		}
	}
	return nil
}

func helperPod(node string) string {
	return manifest(object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": helper(node)},
		"spec": object{
			"nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "hostPID": true,
			"tolerations": []any{object{"operator": "Exists"}},
			"containers": []any{object{
				"name": "helper", "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "command": []any{"sleep", "7200"},
				"volumeMounts": []any{object{"name": "node", "mountPath": "/node"}},
			}},
			"volumes": []any{object{"name": "node", "hostPath": object{"path": volumesDir, "type": "DirectoryOrCreate"}}},
		},
	})
}

// endHelpers removes the helpers and the content of the volumes.
func endHelpers() error {
	for _, node := range nodes {
		_, err := tryOnNode(node, "sh", "-c", "rm -rf /node/*")
		if err != nil {
			return err
		}
		if _, err := kubectl("", "-n", elsewhere, "delete", "pod", helper(node), "--wait=false"); err != nil {
			return err
		}
	}
	return nil
}

func tryOnNode(node string, command ...string) (string, error) {
	return kubectl("", append([]string{"-n", elsewhere, "exec", helper(node), "--"}, command...)...)
}

// onNode runs a command of busybox on a node.
func onNode(s *space, node string, command ...string) string {
	s.Helper()
	return s.must(tryOnNode(node, command...))
}

// killer returns a function that sends a signal to the process of a pod whose command line matches a pattern of sh.
// The signal is sent from the node, because process 1 of a container ignores SIGKILL from inside the container.
func killer(s *space, pod string) func(signal, pattern string) {
	s.Helper()
	node := s.field("pod/"+pod, ".spec.nodeName")
	// A cgroup's name contains the pod's uid, under systemd with another character in place of each dash.
	uid := strings.ReplaceAll(s.field("pod/"+pod, ".metadata.uid"), "-", ".")
	const script = `for p in /proc/[0-9]*; do
		grep -q "$0" $p/cgroup 2>/dev/null || continue
		case $(tr '\0' ' ' <$p/cmdline) in $2) kill -$1 ${p#/proc/} && echo killed ;; esac
	done`
	return func(signal, pattern string) {
		s.Helper()
		if out := onNode(s, node, "sh", "-c", script, uid, signal, pattern); out != "killed\n" {
			s.Fatalf("want one process of pod %s that matches %s, got %q", pod, pattern, out)
		}
	}
}

// until waits, in a shell in a container, until a condition of sh holds. That costs the machine far less than a
// kubectl for each check.
func until(s *space, pod, container, what, condition string) {
	s.Helper()
	const within = 2 * time.Minute
	script := "until " + condition + "; do sleep 0.1; done"
	if out, err := s.tryExec(pod, container, "timeout", fmt.Sprint(within.Seconds()), "sh", "-c", script); err != nil {
		s.Fatalf("%s: not within %s: %v\n%s", what, within, err, out)
	}
}
