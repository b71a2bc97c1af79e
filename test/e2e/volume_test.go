package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// makeClaim makes volumes on the first node, which any user may write to and any number of pods may share, and
// claims that are bound to them. The local cluster has no provisioner.
func makeClaim(s *space, names ...string) {
	s.Helper()
	makeClaims(s, "ReadWriteMany", names...)
}

// makeClaims is makeClaim with an access mode.
func makeClaims(s *space, mode string, names ...string) {
	s.Helper()
	for i, class := range classesOf(s, names) {
		s.apply(manifest(object{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": names[i]},
			"spec": object{
				"storageClassName": class, "accessModes": []any{mode},
				"resources": object{"requests": object{"storage": "64Mi"}},
			},
		}))
	}
	for _, name := range names {
		s.waitFor("pvc/"+name, "jsonpath={.status.phase}=Bound", time.Minute)
	}
}

// classOf makes a volume and returns its storage class, by which a claim gets the volume.
func classOf(s *space, name string) string {
	s.Helper()
	return classesOf(s, []string{name})[0]
}

func classesOf(s *space, names []string) []string {
	s.Helper()
	var classes []string
	for _, name := range names {
		class := s.name + "-" + name
		makeVolume(s, class, class)
		classes = append(classes, class)
	}
	return classes
}

// makeVolume makes a volume of a storage class. It is a directory with the volume's name on the
// first node. Any user may write to it, because the kubelet sets no group on a hostPath.
func makeVolume(s *space, name, class string) {
	s.Helper()
	onNode(s, nodes[0], "sh", "-c", "mkdir /node/"+name+" && chmod 1777 /node/"+name)
	s.must(kubectl(manifest(object{
		"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": name, "labels": object{madeKey: madeValue}},
		"spec": object{
			"storageClassName": class, "accessModes": []any{"ReadWriteMany", "ReadWriteOnce"},
			"capacity": object{"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
			"hostPath": object{"path": volumesDir + "/" + name},
		},
	}), "create", "-f", "-"))
	s.Cleanup(func() {
		if !keep {
			_, _ = kubectl("", "delete", "pv", name, "--wait=false")
		}
	})
}

// readClaim copies the content of a claim from makeClaim into a directory and returns the
// directory.
func readClaim(s *space, name string) string {
	s.Helper()
	return readVolume(s, s.name+"-"+name)
}

// readVolume copies the content of a volume into a directory and returns the directory.
func readVolume(s *space, name string) string {
	s.Helper()
	dir := s.TempDir()
	// A kubectl exec may lose the end of a program's output.
	s.eventually(time.Minute, "a whole archive of volume "+name, func() bool {
		return unpack(dir, onNode(s, nodes[0], "tar", "-c", "-z", "-f", "-", "-C", "/node/"+name, ".")) == nil
	})
	return dir
}

func unpack(dir, archive string) error {
	text, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		return err
	}
	for r := tar.NewReader(text); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, text) // reads up to the checksum
			return err
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

// streamIn returns a persisted stream in a sidecar's --dest, decoded without any of ullage's code.
func streamIn(t *testing.T, dest, name string) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := lab.ReadStream(&text, dest, name); err != nil {
		t.Fatalf("read stream %s: %v", name, err)
	}
	return text.Bytes()
}

// referenceIn returns the reference output in dir, earlier JVMs first.
func referenceIn(t *testing.T, dir string) []byte {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "gc.log*"))
	slices.Sort(files) // gc.log, gc.log.0, gc.log.1 …
	if len(files) > 0 {
		files = append(files[1:], files[0])
	}
	var text []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, data...)
	}
	return text
}
