package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// The images and the chart that were pushed can be pulled from a registry. The images have
// programs of this version for all architectures.
func TestWhatWasPushedIsPulled(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	team := strings.TrimPrefix(server.URL, "http://") + "/team"
	var command bytes.Buffer
	if err := push(t.Context(), checkout(t), team, &command); err != nil {
		t.Fatal(err)
	}
	want := "helm install ullage oci://" + team + "/charts/ullage --version " + version + " --plain-http" +
		" --namespace ullage-system --create-namespace --wait\n"
	if command.String() != want {
		t.Errorf("push prints\n%s, want\n%s", command.String(), want)
	}
	for _, program := range []string{"ullage", "ullage-injector"} {
		for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390} {
			ref := parse(t, team+"/"+program+":"+version)
			image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			if err != nil {
				t.Fatal(err)
			}
			binary := programOf(t, image, program)
			if f, err := elf.NewFile(bytes.NewReader(binary)); err != nil {
				t.Errorf("%s for %s is not an ELF executable: %v", program, arch, err)
			} else if f.Machine != machine {
				t.Errorf("%s for %s has a program for %v, want one for %v", program, arch, f.Machine, machine)
			}
			if arch == runtime.GOARCH {
				reportsVersion(t, binary)
			}
		}
	}
	pulledChart(t, parse(t, team+"/charts/ullage:"+version), team)
}

// A refused push reports how to log in.
func TestRegistryThatRefuses(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	registry, err := checkRegistry(host)
	if err != nil {
		t.Fatal(err)
	}
	err = loginHint(registry, checkout(t).pushChart(t.Context(), host))
	if err == nil || !strings.Contains(err.Error(), "docker login "+host) {
		t.Errorf("the error is %v, want %q in it", err, "docker login "+host)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	err = loginHint(registry, checkout(t).pushChart(t.Context(), strings.TrimPrefix(gone.URL, "http://")))
	if err == nil || strings.Contains(err.Error(), "login") {
		t.Errorf("for a registry that is down, the error is %v, want one without login in it", err)
	}
}

func parse(t *testing.T, tag string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(tag)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// programOf returns the content of the executable that is the image's entry point.
func programOf(t *testing.T, image v1.Image, program string) []byte {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(config.Config.Entrypoint, " "), "/usr/local/bin/"+program; got != want || config.Config.User != "65532:65532" {
		t.Errorf("the image runs %s as the user %s, want %s as 65532:65532", got, config.Config.User, want)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(content); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if "/"+h.Name != config.Config.Entrypoint[0] {
				continue
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	t.Fatalf("no layer has the entry point %s", config.Config.Entrypoint[0])
	return nil
}

// pulledChart checks that helm would accept the pulled chart.
func pulledChart(t *testing.T, ref name.Reference, registry string) {
	t.Helper()
	image, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.RawConfigFile()
	if err != nil || manifest.Config.MediaType != typeChartConfig || !regexp.MustCompile(`"appVersion":"`+regexp.QuoteMeta(version)+`"`).Match(config) {
		t.Errorf("the configuration is %s, of the type %s, error %v; want the appVersion %s, the type %s and no error",
			config, manifest.Config.MediaType, err, version, typeChartConfig)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 || manifest.Layers[0].MediaType != typeChart {
		t.Fatalf("the layers are %+v, error %v; want one of the type %s and no error", manifest.Layers, err, typeChart)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	checkChart(t, data, registry)
}
