package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

func TestTheChartNamesItsRegistryAndVersion(t *testing.T) {
	for _, registry := range []string{published, "127.0.0.1:5000/team"} {
		c, err := checkout(t).chart(registry)
		if err != nil {
			t.Fatal(err)
		}
		checkChart(t, c.archive, registry)
	}
}

// A real helm runs the line that push prints and takes the chart from the registry. Although
// no value is set, the chart names the images in that registry.
func TestTheInstallLineNeedsNoValue(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	team, src := strings.TrimPrefix(server.URL, "http://")+"/team", checkout(t)
	host, err := checkRegistry(team)
	if err != nil {
		t.Fatal(err)
	}
	if err := src.pushChart(t.Context(), team); err != nil {
		t.Fatal(err)
	}
	const settings = `eval "$(../../test/cluster/cluster.sh env)" && `
	if err := exec.Command("bash", "-c", settings+"command -v helm").Run(); err != nil {
		t.Skip("needs helm, which `make chart` builds: ", err)
	}
	line := strings.Replace(src.installLine(team, host), "helm install", "helm template", 1)
	cmd := exec.Command("bash", "-c", settings+line+" --kube-version 1.34.0")
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	for _, image := range []string{team + "/ullage-injector:" + version, team + "/ullage:" + version} {
		if err != nil || !strings.Contains(string(out), image) {
			t.Errorf("the output of %s lacks %s, error %v:\n%.2000s", line, image, err, out)
		}
	}
}
