// Command image writes a container image as an archive. It needs neither a daemon
// nor a network. For example, with a static binary:
//
//	image --out bin/ullage.tar --tag ullage:v1 --user 65532:65532 \
//	  --entrypoint /usr/local/bin/ullage bin/linux-{arch}/ullage=/usr/local/bin/ullage
//
// The archive is an OCI image layout [1] that also has Docker's manifest.json [2]:
// `docker load`, `podman load`, `ctr images import`, `kind load image-archive` and
// `skopeo copy oci-archive:` all read it. An image for several architectures has
// an index of manifests. Docker's manifest.json cannot express that and names the
// image of the first architecture.
//
// The same arguments and files give the same bytes: entries are sorted, owned by
// root, and carry the time of --created, by default SOURCE_DATE_EPOCH.
//
// # Why this is not a library
//
// The writer was compared with go-containerregistry 0.22 in a separate module. The library
// replaces the JSON types, the hashing and the compression: 447 lines became 346. The rest
// stays, because the library has no function for it: a layer of plain files, an archive of
// a layout, and a manifest.json next to an index. The second module needs a go.mod and a
// go.sum, five dependencies, and its own step in each of build, lint, vet, test and
// vulnerability check. The library compresses each layer twice (2.6 s of CPU instead of 1.3
// s for one binary). It has no uncompressed layers: its WithCompression(None) writes gzip
// under the media type of a plain tar. The test clusters need uncompressed layers because
// their images are large.
//
// [1]: https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
// [2]: https://github.com/moby/moby/blob/v27.0.0/image/tarexport/tarexport.go
package main
