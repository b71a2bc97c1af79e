package e2e

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

const mib = 1 << 20

// inMiB renders bytes for the table of figures.
func inMiB(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/mib) }

func inMillis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// Measures each image's size, as nodes report it and unpacked.
func TestImagesAreSmall(t *testing.T) {
	t.Parallel()
	for image, limit := range map[string]int64{"ullage": 22 * mib, "ullage-injector": 30 * mib} {
		limitText := fmt.Sprintf("%d MiB", limit/mib)
		held := onNodes(t, image)
		figures.add("image "+image+", as nodes report (containerd: compressed)", inMiB(held), limitText)
		if held > limit {
			t.Errorf("%s has %d bytes, want at most %s", image, held, limitText)
		}
		unpacked, err := unpackedSize("../../bin/"+image+".tar", image)
		if err != nil {
			figures.add("image "+image+", unpacked", "not known: "+err.Error(), limitText)
			continue
		}
		figures.add("image "+image+", unpacked", inMiB(unpacked), limitText)
		if unpacked > limit {
			t.Errorf("%s has %d bytes unpacked, want at most %s", image, unpacked, limitText)
		}
	}
}

// onNodes returns the largest size that a node reports for an image. A kubelet reports a new image within ten
// seconds.
func onNodes(t *testing.T, image string) (bytes int64) {
	t.Helper()
	err := wait(time.Minute, func() bool {
		bytes = sizeOnNodes(t, image)
		return bytes > 0
	})
	if err != nil {
		t.Fatalf("no node reports the size of %s:%s: %v (a kubelet reports at most nodeStatusMaxImages images, by default 50)", image, imageVersion, err)
	}
	return bytes
}

func sizeOnNodes(t *testing.T, image string) (bytes int64) {
	t.Helper()
	text, err := kubectl("", "get", "nodes", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var nodes struct {
		Items []struct {
			Status struct {
				Images []struct {
					Names     []string
					SizeBytes int64
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &nodes); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		for _, held := range node.Status.Images {
			if slices.ContainsFunc(held.Names, func(name string) bool { return path.Base(name) == image+":"+imageVersion }) {
				bytes = max(bytes, held.SizeBytes)
			}
		}
	}
	return bytes
}

// unpackedSize returns the total size of the layers in an archive that was loaded into the nodes. An archive of
// another version is an error.
func unpackedSize(archive, image string) (int64, error) {
	blobs, err := readArchive(archive)
	if err != nil {
		return 0, err
	}
	var images []struct {
		RepoTags, Layers []string
	}
	if err := json.Unmarshal([]byte(blobs["manifest.json"]), &images); err != nil {
		return 0, fmt.Errorf("%s: manifest.json: %w", archive, err)
	}
	if tag := "localhost/" + image + ":" + imageVersion; len(images) != 1 || !slices.Contains(images[0].RepoTags, tag) {
		return 0, fmt.Errorf("%s is not an archive of %s", archive, tag)
	}
	var sum int64
	for _, layer := range images[0].Layers {
		r, err := gzip.NewReader(strings.NewReader(blobs[layer]))
		if err != nil {
			return 0, fmt.Errorf("%s: %s: %w", archive, layer, err)
		}
		n, err := io.Copy(io.Discard, r)
		if err != nil {
			return 0, fmt.Errorf("%s: %s: %w", archive, layer, err)
		}
		sum += n
	}
	return sum, nil
}

// readArchive returns the files of a tar archive by name.
func readArchive(name string) (map[string]string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	files := map[string]string{}
	for r := tar.NewReader(file); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[h.Name] = string(data)
	}
}
