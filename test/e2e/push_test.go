package e2e

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The command that `make push` prints, with some more values, installs the release from a registry: the node pulls
// both images from there. On a platform like those in production, everything works, or the pod's warnings say what
// to set.
func TestPushedIsInstalled(t *testing.T) {
	s := newSpace(t)
	if !onThisMachine() {
		t.Skipf("only nodes that are processes of this machine reach a registry on its loopback address, but the nodes are %q", nodes)
	}
	const version = "0.0.1-e2e"
	team := serveRegistry(t) + "/team"
	line := paste(t, "make push, for four architectures", "make push REGISTRY="+team+" VERSION="+version+" 2>/dev/null")
	if !strings.HasPrefix(line, "helm install ullage oci://"+team) {
		t.Fatalf("make push prints %q, want \"helm install ullage oci://%s\" at its beginning", line, team)
	}
	s.must(helm("uninstall", release, "-n", system, "--wait"))
	t.Cleanup(func() {
		if _, err := helm("uninstall", release, "-n", system, "--wait"); err != nil {
			t.Error(err)
		}
		if err := install(); err != nil {
			t.Error(err)
		}
	})
	paste(t, "helm install of what was pushed", strings.TrimSpace(line)+platformValues)
	if err := injects(time.Minute); err != nil {
		t.Fatal(err)
	}
	p := &platform{space: s}
	p.works()
	pod := p.rolledOut("web")
	if got, want := s.field("pod/"+pod, ".spec.initContainers[0].image"), team+"/ullage:"+version; got != want {
		t.Errorf("the sidecar's image is %s, want %s", got, want)
	}
	if got := s.exec(pod, "ullage", "ullage", "version"); !strings.Contains(got, version) {
		t.Errorf("the sidecar has the version %s, want %s", got, version)
	}
}

// serveRegistry serves an empty registry and returns its name.
func serveRegistry(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "registry")
	build := exec.Command("go", "build", "-C", "../../deploy/release", "-o", program, "github.com/google/go-containerregistry/cmd/registry")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program, "-port", "0")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-served
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	port := ""
	for port == "" && lines.Scan() {
		if m := regexp.MustCompile(`serving on port (\d+)`).FindStringSubmatch(lines.Text()); m != nil {
			port = m[1]
		}
	}
	// A pipe without a reader would stop the registry.
	go func() {
		defer close(served)
		for lines.Scan() {
		}
	}()
	if port == "" {
		t.Fatal("the registry reports no port")
	}
	return "localhost:" + port
}
