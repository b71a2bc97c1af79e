package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of a Helm chart in a registry.
const (
	typeChartConfig types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	typeChart       types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartTag returns the reference of the chart in a registry.
func (s source) chartTag(registry string) string { return registry + "/charts/ullage:" + s.version }

// pushChart pushes the chart as `helm push` does.
func (s source) pushChart(ctx context.Context, registry string) error {
	tag := s.chartTag(registry)
	ref, err := name.ParseReference(tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("push the chart: %w", err)
	}
	c, err := s.chart(registry)
	if err != nil {
		return err
	}
	artifact, err := c.image()
	if err != nil {
		return err
	}
	if err := remote.Write(ref, artifact, remoteOptions(ctx)...); err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	s.say("pushed %s", tag)
	return nil
}

// image returns the chart in the form that a registry stores.
func (c chart) image() (v1.Image, error) {
	content := static.NewLayer(c.archive, typeChart)
	layer, err := partial.Descriptor(content)
	if err != nil {
		return nil, fmt.Errorf("make the chart's manifest: %w", err)
	}
	digest, size, err := v1.SHA256(bytes.NewReader(c.config))
	if err != nil {
		return nil, fmt.Errorf("make the chart's manifest: %w", err)
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: v1.Descriptor{MediaType: typeChartConfig, Digest: digest, Size: size},
		Layers: []v1.Descriptor{*layer},
	})
	if err != nil {
		return nil, fmt.Errorf("make the chart's manifest: %w", err)
	}
	return partial.CompressedToImage(chartImage{manifest, c.config, content})
}

// chartImage is the part of an image from which the library derives the rest.
type chartImage struct {
	manifest, config []byte
	content          v1.Layer
}

// RawManifest implements [partial.CompressedImageCore].
func (c chartImage) RawManifest() ([]byte, error) { return c.manifest, nil }

// RawConfigFile implements [partial.CompressedImageCore].
func (c chartImage) RawConfigFile() ([]byte, error) { return c.config, nil }

// MediaType implements [partial.CompressedImageCore].
func (c chartImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// LayerByDigest implements [partial.CompressedImageCore].
func (c chartImage) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) { return c.content, nil }
