package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// signer signs a release in dir, and its images and its chart in a registry.
type signer struct {
	source
	registry, dir string
	cosign        []string // the command, with arguments
	more          []string // further arguments for each signature, such as a key; empty: keyless, with the identity of a workflow
}

// sign signs the images, their SBOMs, the chart and the checksums.
func (s signer) sign(ctx context.Context) error {
	if _, err := checkRegistry(s.registry); err != nil {
		return err
	}
	if len(s.cosign) == 0 {
		return errors.New("--cosign names no command")
	}
	for _, t := range allTargets {
		if !t.image {
			continue
		}
		if err := s.signImage(ctx, t.program); err != nil {
			return err
		}
	}
	chart, err := s.chartRef()
	if err != nil {
		return err
	}
	if err := s.run(ctx, "sign", chart); err != nil {
		return err
	}
	sums := filepath.Join(s.dir, "ullage_"+s.version+checksumsSuffix)
	return s.run(ctx, "sign-blob", "--bundle", sums+".sigstore.json", sums)
}

// signImage signs an image and attests its SBOM.
func (s signer) signImage(ctx context.Context, program string) error {
	archive, err := os.ReadFile(filepath.Join(s.dir, program+"_"+s.version+"_image.tar"))
	if err != nil {
		return fmt.Errorf("read the release: %w", err)
	}
	digest, err := imageDigest(archive)
	if err != nil {
		return err
	}
	ref := s.registry + "/" + program + "@" + digest
	if err := s.run(ctx, "sign", ref); err != nil {
		return err
	}
	return s.run(ctx, "attest", "--type", "spdxjson", "--predicate", filepath.Join(s.dir, program+"_"+s.version+".spdx.json"), ref)
}

// chartRef returns the reference of the release's chart in the registry that the chart
// names.
func (s signer) chartRef() (string, error) {
	c, err := s.chart(s.registry)
	if err != nil {
		return "", err
	}
	archive, err := os.ReadFile(filepath.Join(s.dir, c.fileName()))
	if err != nil {
		return "", fmt.Errorf("read the release: %w", err)
	}
	if !bytes.Equal(archive, c.archive) {
		return "", fmt.Errorf("%s in %s is not the chart that is pushed to %s: make the release with REGISTRY=%[3]s, from this commit", c.fileName(), s.dir, s.registry)
	}
	artifact, err := c.image()
	if err != nil {
		return "", err
	}
	digest, err := artifact.Digest()
	if err != nil {
		return "", fmt.Errorf("make the chart's manifest: %w", err)
	}
	return s.registry + "/charts/ullage@" + digest.String(), nil
}

// run runs cosign with --yes, so that it asks no questions.
func (s signer) run(ctx context.Context, verb string, args ...string) error {
	all := append(append(append([]string{}, s.cosign[1:]...), verb, "--yes"), append(s.more, args...)...)
	cmd := exec.CommandContext(ctx, s.cosign[0], all...)
	var complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &complaint, &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cosign %s: %w\n%s", verb, err, complaint.Bytes())
	}
	s.say("cosign %s %s", verb, args[len(args)-1])
	return nil
}
