package main

import (
	"fmt"
	"slices"
	"strings"
)

const krewHead = `# kubectl krew install --manifest=krew-ullage.yaml
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: ullage
spec:
  version: v%[1]s
  homepage: %[2]s
  shortDescription: Show and control the ullage sidecars of JVMs
  description: |
    Raises what the JVMs of pods log for a while, shows the state of their ullage
    sidecars, prints what the sidecars have persisted, and explains why a pod has
    no sidecar.
  platforms:
`

const krewPlatform = `  - selector:
      matchLabels:
        os: %s
        arch: %s
    uri: %s
    sha256: %s
    bin: %s
`

// krew writes the manifest from which krew, the manager of kubectl plugins, installs the
// plugin.
func (r *release) krew() error {
	var b strings.Builder
	fmt.Fprintf(&b, krewHead, r.version, repository)
	for _, p := range pluginPlatforms {
		name := r.archiveName(plugin, p)
		i := slices.IndexFunc(r.files, func(f file) bool { return f.name == name })
		if i < 0 {
			continue // not a platform of this release
		}
		fmt.Fprintf(&b, krewPlatform, p.os, p.arch, repository+"/releases/download/v"+r.version+"/"+name, r.files[i].sha256, plugin+p.suffix())
	}
	return r.add("krew-ullage.yaml", []byte(b.String()))
}
