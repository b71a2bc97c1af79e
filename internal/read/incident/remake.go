package incident

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/read/report/view"
)

// MaxArchive bounds the bytes of an archive. It leaves room for parts that cannot be compressed, pages, and names.
const MaxArchive = MaxBytes + 16<<20

// maxElements bounds the memory of a decoded manifest, see package untrusted.
const maxElements = 64 << 10

// partName matches the names of parts that are copied. No browser runs their content.
var partName = regexp.MustCompile(`^(lines/)?[A-Za-z0-9._%+=@&$~-]{1,640}\.(txt|json)$`)

// Remake writes an archive with the data of another archive, which is untrusted, and with pages that are made here.
// of says where the other archive comes from.
func Remake(w io.Writer, from io.ReaderAt, size int64, of string) error {
	in, err := zip.NewReader(from, size)
	if err != nil {
		return fmt.Errorf("the archive is cut or damaged: %w", err)
	}
	var m Manifest
	text, err := content(in, manifestName)
	if err == nil {
		err = untrusted.Decode(text, maxElements, &m)
	}
	if err != nil {
		return fmt.Errorf("read the manifest of the archive: %w", err)
	}
	a := New(w, Manifest{Of: of + ": " + printable.Text(m.Of, maxText), Version: printable.Text(m.Version, maxText), Made: m.Made, Since: m.Since, Until: m.Until})
	left := int64(MaxBytes)
	for _, p := range m.Parts {
		if err := a.copy(in, p, &left); err != nil {
			return err
		}
	}
	// m.Lacks lists everything that the other archive lacks. The pages that are made here may leave less room for the
	// parts, so own may have further entries.
	own := a.manifest.Lacks
	a.manifest.Lacks = nil
	for _, text := range slices.Concat(m.Lacks, slices.DeleteFunc(own, func(text string) bool { return slices.Contains(m.Lacks, text) })) {
		a.Lack("%s", text)
	}
	return a.Close()
}

// copy adds a part of another archive, or makes it again if it is a report. left is how many more
// bytes the parts of the other archive may have.
func (a *Archive) copy(in *zip.Reader, p Part, left *int64) error {
	p.About = printable.Text(p.About, maxText)
	has := func(name string) bool {
		return slices.ContainsFunc(a.manifest.Parts, func(o Part) bool { return o.Name == name })
	}
	switch {
	case p.Name == reportPage, p.Name == ReportText && has(reportJSON):
		return nil
	case !partName.MatchString(p.Name) || p.Name == manifestName || has(p.Name) || p.Name == reportJSON && has(ReportText):
		return fmt.Errorf("the archive has a part %s, which ullage does not write", printable.Name(p.Name))
	case p.Name == reportJSON:
		text, err := content(in, p.Name)
		if err != nil {
			return err
		}
		r, err := view.Decode(text)
		if err != nil {
			return err
		}
		return a.Report(r)
	case p.Bytes == 0 && p.Problem != "": // the part was left out
		a.note(Part{Name: p.Name, About: p.About, Problem: p.Problem})
		return nil
	}
	f, err := in.Open(p.Name)
	if err != nil {
		return fmt.Errorf("the archive lacks a part: %w", err)
	}
	defer f.Close()
	var failed error
	err = a.add(Part{Name: p.Name, About: p.About, Problem: p.Problem}, MaxBytes, func(w io.Writer) (int64, error) {
		n, err := io.Copy(w, io.LimitReader(f, *left+1))
		if failed = err; n > *left {
			failed = fmt.Errorf("its parts exceed %s", printable.Bytes(MaxBytes))
		}
		*left -= n
		return max(0, p.Cut), nil
	})
	if failed != nil {
		failed = fmt.Errorf("read %s in the archive: %w", p.Name, failed)
	}
	return errors.Join(err, failed)
}

// content returns a small part of an archive.
func content(in *zip.Reader, name string) ([]byte, error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the archive lacks a part: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPart+1))
	if err == nil && len(text) > maxPart {
		err = fmt.Errorf("it is longer than %s", printable.Bytes(maxPart))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s in the archive: %w", name, err)
	}
	return text, nil
}
