package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// sbom writes what the binaries of a program consist of: an SPDX document with a
// package for each platform's binary, and one for each module that is linked into
// any of them, as the linker recorded it. The images have the same binaries.
func (r *release) sbom(t target) error {
	doc := newDocument(t.program, r.source)
	var sums strings.Builder
	for _, p := range t.platforms {
		data, err := os.ReadFile(r.binary(t.program, p))
		if err != nil {
			return fmt.Errorf("read the program: %w", err)
		}
		info, err := buildinfo.Read(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("read the build information of %s: %w", t.program, err)
		}
		sums.WriteString(sum(data))
		doc.binary(t.program, p, r.version, sum(data), info)
	}
	// A namespace belongs to only one document and is a URI without a fragment.
	doc.DocumentNamespace = fmt.Sprintf("%s/releases/download/v%s/%s_%s.spdx.json/%s", repository, r.version, t.program, r.version, sum([]byte(sums.String())))
	var b bytes.Buffer
	if err := spdxjson.Write(&doc.Document, &b, spdxjson.Indent("  ")); err != nil {
		return fmt.Errorf("write the SBOM: %w", err)
	}
	return r.add(t.program+"_"+r.version+".spdx.json", b.Bytes())
}

// document is an SPDX document that is being filled.
type document struct {
	spdx.Document
	modules map[common.ElementID]bool
}

func newDocument(program string, s source) *document {
	return &document{modules: map[common.ElementID]bool{}, Document: spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: program + " " + s.version,
		CreationInfo: &spdx.CreationInfo{
			Created:  s.date.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "ullage-release-" + s.version}},
		},
	}}
}

const (
	unknown = "NOASSERTION"
	license = "Apache-2.0"
)

// binary adds a binary and the modules that are linked into it.
func (d *document) binary(program string, p platform, version, sha256 string, info *buildinfo.BuildInfo) {
	id := elementID("Binary", program, p.os, p.arch)
	d.Packages = append(d.Packages, &spdx.Package{
		PackageName: program, PackageSPDXIdentifier: id, PackageVersion: version,
		PackageFileName: program + p.suffix(), PackageComment: p.String(),
		PackageDownloadLocation: repository, PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: sha256}},
		PackageLicenseConcluded: license, PackageLicenseDeclared: license, PackageCopyrightText: unknown,
		PrimaryPackagePurpose: "APPLICATION", IsFilesAnalyzedTagPresent: true,
	})
	d.relate("DOCUMENT", "DESCRIBES", id)
	d.relate(id, "DEPENDS_ON", d.module("stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.relate(id, "DEPENDS_ON", d.module(m.Path, m.Version))
	}
}

// module adds a module, unless the document already has it.
func (d *document) module(path, version string) common.ElementID {
	id := elementID("Module", path, version)
	if d.modules[id] {
		return id
	}
	d.modules[id] = true
	location := unknown
	if path != "stdlib" {
		location = "https://proxy.golang.org/" + escaped(path) + "/@v/" + escaped(version) + ".zip"
	}
	d.Packages = append(d.Packages, &spdx.Package{
		PackageName: path, PackageSPDXIdentifier: id, PackageVersion: version,
		PackageDownloadLocation: location, PackageCopyrightText: unknown,
		PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown,
		PrimaryPackagePurpose: "LIBRARY", IsFilesAnalyzedTagPresent: true,
		PackageExternalReferences: []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: "pkg:golang/" + path + "@" + version}},
	})
	return id
}

func (d *document) relate(a common.ElementID, how string, b common.ElementID) {
	d.Relationships = append(d.Relationships, &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(a)), RefB: common.MakeDocElementID("", string(b)), Relationship: how,
	})
}

var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func elementID(parts ...string) common.ElementID {
	return common.ElementID(notInIDs.ReplaceAllString(strings.Join(parts, "-"), "-"))
}

// escaped returns a path or a version in the form of the module proxy: !a for A.
func escaped(s string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(s, func(c string) string { return "!" + strings.ToLower(c) })
}
