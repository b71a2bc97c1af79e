package e2e

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// claim makes volumes on the node, which any user may write to and which any
// number of pods may share, and claims that are bound to them. The local
// cluster has nothing that makes volumes.
func (v *volumes) claim(names ...string) {
	v.Helper()
	for i, class := range v.classes(names) {
		v.apply(manifest(object{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": names[i]},
			"spec": object{
				"storageClassName": class, "accessModes": []any{"ReadWriteMany"},
				"resources": object{"requests": object{"storage": "64Mi"}},
			},
		}))
	}
	for _, name := range names {
		v.waitFor("pvc/"+name, "jsonpath={.status.phase}=Bound", time.Minute)
	}
}

// class makes a volume that any claim of the returned storage class gets.
func (v *volumes) class(name string) string {
	v.Helper()
	return v.classes([]string{name})[0]
}

func (v *volumes) classes(names []string) []string {
	v.Helper()
	const parent = "/var/tmp/ullage-e2e/"
	var classes []string
	open := "cd /node"
	for _, name := range names {
		class := v.name + "-" + name
		v.must(kubectl(manifest(object{
			"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": class},
			"spec": object{
				"storageClassName": class, "accessModes": []any{"ReadWriteMany", "ReadWriteOnce"},
				"capacity": object{"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
				"hostPath": object{"path": parent + class, "type": "DirectoryOrCreate"},
			},
		}), "create", "-f", "-"))
		v.Cleanup(func() {
			if !keep {
				_, _ = kubectl("", "delete", "pv", class, "--wait=false")
			}
		})
		classes = append(classes, class)
		open += " && mkdir " + class + " && chmod 1777 " + class
	}
	// The kubelet gives no group to a hostPath: somebody has to let users in.
	v.onNode("open-"+names[0], parent, "sh", "-c", open)
	return classes
}

// onNode runs a command of busybox as root in a pod that has a directory of the
// node at /node.
func (v *volumes) onNode(pod, path string, command ...string) {
	v.Helper()
	const elsewhere = "default" // the test's namespace may not allow such a pod
	pod = v.name + "-" + pod
	words := make([]any, len(command))
	for i, word := range command {
		words[i] = word
	}
	v.must(kubectl(manifest(object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": pod},
		"spec": object{
			"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
			"containers": []any{object{
				"name": "on-node", "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "command": words,
				"volumeMounts": []any{object{"name": "node", "mountPath": "/node"}},
			}},
			"volumes": []any{object{"name": "node", "hostPath": object{"path": path, "type": "DirectoryOrCreate"}}},
		},
	}), "-n", elsewhere, "create", "-f", "-"))
	defer kubectl("", "-n", elsewhere, "delete", "pod", pod, "--wait=false")
	v.must(kubectl("", "-n", elsewhere, "wait", "pod/"+pod, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=1m"))
}

// readClaim copies what is in a claim to a directory and returns that.
func (v *volumes) readClaim(name string) string {
	v.Helper()
	pod := "read-" + name
	v.apply(manifest(object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": pod},
		"spec": object{
			"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
			"securityContext": object{"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000, "seccompProfile": object{"type": "RuntimeDefault"}},
			"containers": []any{object{
				"name": "reader", "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "command": []any{"sleep", "600"},
				"volumeMounts":    []any{object{"name": "claim", "mountPath": "/claim"}},
				"securityContext": object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []any{"ALL"}}},
			}},
			"volumes": []any{object{"name": "claim", "persistentVolumeClaim": object{"claimName": name}}},
		},
	}))
	v.ready(pod)
	archive := v.exec(pod, "reader", "tar", "-c", "-f", "-", "-C", "/claim", ".")
	v.kubectl("delete", "pod", pod, "--wait=false")
	dir := v.TempDir()
	if err := unpack(dir, archive); err != nil {
		v.Fatalf("unpack claim %s: %v", name, err)
	}
	return dir
}

func unpack(dir, archive string) error {
	for r := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, 0o644)
			}
		}
		if err != nil {
			return err
		}
	}
}

// stream returns a persisted stream in the directory that a sidecar calls its
// --dest, decoded without any of ullage's code.
func (a *accounts) stream(dest, name string) []byte {
	a.Helper()
	var text bytes.Buffer
	if err := lab.ReadStream(&text, dest, name); err != nil {
		a.Fatalf("read stream %s: %v", name, err)
	}
	return text.Bytes()
}

// referenceIn returns the reference output in dir, that of earlier JVMs first.
func (a *accounts) referenceIn(dir string) []byte {
	a.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "gc.log*"))
	slices.Sort(files) // gc.log, gc.log.0, gc.log.1 …
	if len(files) > 0 {
		files = append(files[1:], files[0])
	}
	var text []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			a.Fatal(err)
		}
		text = append(text, data...)
	}
	return text
}
