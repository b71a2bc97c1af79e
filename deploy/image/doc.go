// Command image writes a container image as an archive, without a daemon and
// without a network. For example, from a static binary:
//
//	image --out bin/ullage.tar --tag ullage:v1 --user 65532:65532 \
//	  --entrypoint /usr/local/bin/ullage bin/linux-{arch}/ullage=/usr/local/bin/ullage
//
// The archive is an OCI image layout [1] that has Docker's manifest.json [2]
// as well: `docker load`, `podman load`, `ctr images import`, `kind load
// image-archive` and `skopeo copy oci-archive:` all take it. An image of
// several architectures has an index of manifests; manifest.json, which can't
// say that, names the image of the first.
//
// The same arguments and files give the same bytes: entries are sorted, owned
// by root, and carry the time of --created, by default SOURCE_DATE_EPOCH.
//
// [1]: https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
// [2]: https://github.com/moby/moby/blob/v27.0.0/image/tarexport/tarexport.go
package main
