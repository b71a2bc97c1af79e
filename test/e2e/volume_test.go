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
func (s *space) claim(names ...string) {
	s.Helper()
	for i, class := range s.classes(names) {
		s.apply(manifest(object{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": names[i]},
			"spec": object{
				"storageClassName": class, "accessModes": []any{"ReadWriteMany"},
				"resources": object{"requests": object{"storage": "64Mi"}},
			},
		}))
	}
	for _, name := range names {
		s.waitFor("pvc/"+name, "jsonpath={.status.phase}=Bound", time.Minute)
	}
}

// class makes a volume that any claim of the returned storage class gets.
func (s *space) class(name string) string {
	s.Helper()
	return s.classes([]string{name})[0]
}

func (s *space) classes(names []string) []string {
	s.Helper()
	const parent = "/var/tmp/ullage-e2e/"
	var classes []string
	open := "cd /node"
	for _, name := range names {
		class := s.name + "-" + name
		s.must(kubectl(manifest(object{
			"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": class},
			"spec": object{
				"storageClassName": class, "accessModes": []any{"ReadWriteMany", "ReadWriteOnce"},
				"capacity": object{"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
				"hostPath": object{"path": parent + class, "type": "DirectoryOrCreate"},
			},
		}), "create", "-f", "-"))
		s.Cleanup(func() {
			if !keep {
				_, _ = kubectl("", "delete", "pv", class, "--wait=false")
			}
		})
		classes = append(classes, class)
		open += " && mkdir " + class + " && chmod 1777 " + class
	}
	// The kubelet gives no group to a hostPath: somebody has to let users in.
	s.onNode("open-"+names[0], parent, "sh", "-c", open)
	return classes
}

// onNode runs a command of busybox as root in a pod that has a directory of the
// node at /node.
func (s *space) onNode(pod, path string, command ...string) {
	s.Helper()
	const elsewhere = "default" // the test's namespace may not allow such a pod
	pod = s.name + "-" + pod
	words := make([]any, len(command))
	for i, word := range command {
		words[i] = word
	}
	s.must(kubectl(manifest(object{
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
	s.must(kubectl("", "-n", elsewhere, "wait", "pod/"+pod, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=1m"))
}

// readClaim copies what is in a claim to a directory and returns that.
func (s *space) readClaim(name string) string {
	s.Helper()
	pod := "read-" + name
	s.apply(manifest(object{
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
	s.ready(pod)
	archive := s.exec(pod, "reader", "tar", "-c", "-f", "-", "-C", "/claim", ".")
	s.kubectl("delete", "pod", pod, "--wait=false")
	dir := s.TempDir()
	if err := unpack(dir, archive); err != nil {
		s.Fatalf("unpack claim %s: %v", name, err)
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
func (s *space) stream(dest, name string) []byte {
	s.Helper()
	var text bytes.Buffer
	if err := lab.ReadStream(&text, dest, name); err != nil {
		s.Fatalf("read stream %s: %v", name, err)
	}
	return text.Bytes()
}

// referenceIn returns the reference output in dir, that of earlier JVMs first.
func (s *space) referenceIn(dir string) []byte {
	s.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "gc.log*"))
	slices.Sort(files) // gc.log, gc.log.0, gc.log.1 …
	if len(files) > 0 {
		files = append(files[1:], files[0])
	}
	var text []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			s.Fatal(err)
		}
		text = append(text, data...)
	}
	return text
}
