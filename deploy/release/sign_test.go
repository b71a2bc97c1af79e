package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// released pushes both images, for this machine's architecture and for s390x, and the chart
// to the test's own registry. It returns the name of the registry, and a directory with the
// files that sign reads.
func released(t *testing.T) (src source, team, dir string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	team, dir, src = strings.TrimPrefix(server.URL, "http://")+"/team", t.TempDir(), checkout(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"ullage", "ullage-injector"} {
		must(src.image(t.Context(), dir, "localhost/", target{program, []platform{{"linux", runtime.GOARCH}, {"linux", "s390x"}}, true}))
		must(src.pushImage(t.Context(), filepath.Join(dir, program+".tar"), team+"/"+program+":"+version))
		must(os.Rename(filepath.Join(dir, program+".tar"), filepath.Join(dir, program+"_"+version+"_image.tar")))
		must(os.WriteFile(filepath.Join(dir, program+"_"+version+".spdx.json"), []byte(`{"spdxVersion":"SPDX-2.3"}`), 0o644))
	}
	must(src.pushChart(t.Context(), team))
	c, err := src.chart(team)
	must(err)
	must(os.WriteFile(filepath.Join(dir, c.fileName()), c.archive, 0o644))
	must(os.WriteFile(filepath.Join(dir, "ullage_"+version+checksumsSuffix), []byte("sums\n"), 0o644))
	return src, team, dir
}

// sign signs the content of the registry by the digests in the release's files. A tag that
// was moved in the meantime is not signed.
func TestSignNamesWhatWasPushedByDigest(t *testing.T) {
	src, team, dir := released(t)
	record := filepath.Join(t.TempDir(), "record")
	cosign := filepath.Join(t.TempDir(), "cosign")
	if err := os.WriteFile(cosign, []byte("#!/bin/sh\necho \"$@\" >>"+record+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (signer{source: src, registry: team, dir: dir, cosign: []string{cosign}}).sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	signed := regexp.MustCompile(`(?m)^sign --yes (\S+)$`).FindAllStringSubmatch(string(text), -1)
	var want []string
	for _, name := range []string{"/ullage", "/ullage-injector", "/charts/ullage"} {
		there, err := remote.Head(parse(t, team+name+":"+version))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, team+name+"@"+there.Digest.String())
	}
	var got []string
	for _, m := range signed {
		got = append(got, m[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("signed %q, want %q", got, want)
	}
	sums := filepath.Join(dir, "ullage_"+version+checksumsSuffix)
	for _, line := range []string{
		"attest --yes --type spdxjson --predicate " + filepath.Join(dir, "ullage_"+version+".spdx.json") + " " + want[0],
		"sign-blob --yes --bundle " + sums + ".sigstore.json " + sums,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("want a call of cosign with %q; got the calls\n%s", line, text)
		}
	}
}

// A release whose chart names another registry is not signed for this registry.
func TestSignRefusesAChartOfAnotherRegistry(t *testing.T) {
	src, dir := checkout(t), t.TempDir()
	c, err := src.chart(published)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, c.fileName()), c.archive, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (signer{source: src, registry: "registry.example/team", dir: dir}).chartRef(); err == nil || !strings.Contains(err.Error(), "REGISTRY=registry.example/team") {
		t.Errorf("the error is %v, want REGISTRY=registry.example/team in it", err)
	}
}
