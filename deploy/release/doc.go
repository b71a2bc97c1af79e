// Command release builds the files of a version of ullage and pushes the images and the
// chart that a cluster pulls.
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
//	ullage_VERSION_provenance.json     the source and the build of all the files above
//	ullage_VERSION_checksums.txt       as sha256sum writes it
//
// The same commit, version and release of Go give the same bytes: no file contains
// the time, the machine, the user or the directory of the build.
//
// push builds the images and the chart in the same way and pushes them, so their digests in
// a registry are the digests of the archives. The chart names the registry, so that a user
// who installs the chart need not name it.
//
// sign uses cosign to sign a release that make has written and push has pushed. It signs
// the images and the chart by the digests in the files of the release, whatever the
// registry returns. It attests each SBOM to its image and signs the checksums.
//
// # Libraries
//
// The package is a module of its own, so that the programs do not depend on its
// libraries: go-containerregistry, which logs in to registries as docker does,
// and the types of SPDX. The statement about the provenance has its own types: the
// module that defines them needs gRPC.
package main
