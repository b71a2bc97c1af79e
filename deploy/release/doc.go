// Command release builds what a version of ullage consists of and pushes what a
// cluster pulls of it.
//
//	release make --version 0.1.0 --out ../../dist
//	release push --version 0.1.0 --registry registry.example/team
//	release sign --version 0.1.0 --registry registry.example/team --out ../../dist
//
// make writes into one directory:
//
//	PROGRAM_VERSION_OS_ARCH.tar.gz     the program, LICENSE, README.md (.zip for Windows)
//	IMAGE_VERSION_image.tar            an OCI image layout with amd64, arm64, ppc64le and s390x
//	PROGRAM_VERSION.spdx.json          what the program's binaries consist of
//	ullage-VERSION.tgz                 the Helm chart
//	krew-ullage.yaml                   the plugin's manifest for krew
//	ullage_VERSION_changes.md          the commits since the last version
//	ullage_VERSION_provenance.json     from which source and how all of the above was built
//	ullage_VERSION_checksums.txt       as sha256sum writes it
//
// The same commit, version and release of Go give the same bytes: no file has the
// time of the build, its machine, its user or its directory in it.
//
// push builds the images and the chart in the same way and pushes them. So the
// digests in a registry are those of the archives. The chart names the registry, so
// that a user who installs it need not.
//
// sign signs what make has written and push has pushed, with cosign: the images and
// the chart by the digests of the files of the release, whatever the registry says,
// the SBOM as an attestation of its image, and the checksums.
//
// # Libraries
//
// The package is a module of its own, so that its libraries do not become those of
// the programs: go-containerregistry, which logs in to registries as docker does,
// and the types of SPDX. The statement about the provenance has its own types: the
// module that defines them needs gRPC.
package main
