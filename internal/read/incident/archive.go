package incident

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	// MaxBytes bounds all parts of an archive together, before compression.
	MaxBytes = 64 << 20

	maxPart  = 8 << 20  // bytes of each part other than lines
	maxShown = 32 << 10 // bytes of a part that the index page shows
	maxText  = 500      // bytes of an entry of Lacks, or of another short text
	maxLacks = 1000     // entries of Lacks
)

// The names of the parts that the index page shows, and of the parts that Remake does not simply copy.
const (
	CheckText    = "check.txt"
	MarksText    = "marks.txt"
	ReportText   = "report.txt"
	reportPage   = "report.html"
	reportJSON   = "report.json"
	manifestName = "manifest.json"
)

// Manifest describes an archive. It is its part manifest.json.
type Manifest struct {
	Of      string    `json:"of"`      // the destination and its host or pod
	Version string    `json:"version"` // of ullage
	Made    time.Time `json:"made"`
	Since   time.Time `json:"since"` // the beginning of the window
	Until   time.Time `json:"until"` // the end of the window

	// Lacks names what is missing, in the durable copy or in the archive. Empty: the archive has every line of the
	// window.
	Lacks []string `json:"lacks,omitempty"`

	Parts []Part `json:"parts"`
}

// Part describes a part of an archive.
type Part struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Bytes   int64  `json:"bytes"`              // in the archive, before compression
	Cut     int64  `json:"cutBytes,omitempty"` // bytes for which there was no room
	Problem string `json:"problem,omitempty"`  // why the part is incomplete; empty: it lacks at most the bytes of Cut
}

// Archive writes an archive. Its methods return only errors of the output, and are not safe for concurrent use.
type Archive struct {
	manifest Manifest
	zip      *zip.Writer
	left     int64             // bytes that further parts may have
	shown    map[string][]byte // the beginnings of parts, for the index page
}

// New returns an Archive that writes to w. m describes it, without its parts.
func New(w io.Writer, m Manifest) *Archive {
	return &Archive{manifest: m, zip: zip.NewWriter(w), left: MaxBytes, shown: map[string][]byte{}}
}

// Lacks returns what is known to be missing.
func (a *Archive) Lacks() []string { return a.manifest.Lacks }

// Lack notes that something is missing.
func (a *Archive) Lack(format string, args ...any) {
	if len(a.manifest.Lacks) < maxLacks {
		a.manifest.Lacks = append(a.manifest.Lacks, printable.Text(fmt.Sprintf(format, args...), maxText))
	}
}

// Add adds a part, which the function write writes. about says on the index page what the part is. If write returns
// an error, the part holds what was written until then, and its Problem is the error.
func (a *Archive) Add(name, about string, write func(io.Writer) error) error {
	return a.add(Part{Name: name, About: about}, maxPart, func(w io.Writer) (int64, error) { return 0, write(w) })
}

// add adds a part with at most the given number of bytes. write also returns how many bytes it left out itself.
func (a *Archive) add(p Part, most int64, write func(io.Writer) (int64, error)) error {
	out, err := a.create(p.Name)
	if err != nil {
		return err
	}
	to := &bounded{to: out, left: min(most, a.left)}
	skipped, failed := write(to)
	if to.err != nil {
		return fmt.Errorf("write the archive: %w", to.err)
	}
	if failed != nil {
		p.Problem = failed.Error()
	}
	if p.Bytes, p.Cut = to.n, skipped+to.cut; p.Cut > 0 {
		a.Lack("%s: %s left out: an archive holds at most %s", p.Name, printable.Bytes(p.Cut), printable.Bytes(MaxBytes))
	}
	a.left -= to.n
	a.shown[p.Name] = to.kept
	a.note(p)
	return nil
}

// note adds a part to the manifest.
func (a *Archive) note(p Part) {
	if p.Problem = printable.Text(p.Problem, maxText); p.Problem != "" {
		a.Lack("%s: %s", p.Name, p.Problem)
	}
	a.manifest.Parts = append(a.manifest.Parts, p)
}

// create begins a file.
func (a *Archive) create(name string) (io.Writer, error) {
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.manifest.Made})
	if err != nil {
		err = fmt.Errorf("write the archive: %w", err)
	}
	return w, err
}

// Report adds a report as a page, as text and as JSON. The lines that it lists with stops are shown without secrets.
func (a *Archive) Report(r *view.Report) error {
	r = withoutSecrets(r)
	return errors.Join(
		a.Add(reportJSON, "where the JVM’s time went, as JSON", func(w io.Writer) error { return view.JSON(w, r) }),
		a.Add(reportPage, "where the JVM’s time went, with charts", func(w io.Writer) error { return view.HTML(w, r) }),
		a.Add(ReportText, "the same as text", func(w io.Writer) error { return view.Text(w, view.Style{}, r) }))
}

// Close ends the archive with the index page and the manifest.
func (a *Archive) Close() error {
	page, err := a.create("index.html")
	if err == nil {
		err = a.index(page)
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(a.manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	manifest, err := a.create(manifestName)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(manifest, printable.JSON(string(text))+"\n"); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return a.zip.Close()
}

// bounded passes on the first bytes and counts the others. It fails only if the output does.
type bounded struct {
	to   io.Writer
	left int64 // bytes that may still be passed on
	n    int64 // bytes that were passed on
	cut  int64 // bytes that were not passed on
	err  error // of the output
	kept []byte
}

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	take := p[:min(int64(len(p)), b.left)]
	if b.err == nil {
		_, b.err = b.to.Write(take)
	}
	b.kept = append(b.kept, take[:min(len(take), maxShown-len(b.kept))]...)
	b.n, b.left, b.cut = b.n+int64(len(take)), b.left-int64(len(take)), b.cut+int64(len(p)-len(take))
	return len(p), b.err
}
