package levels

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/plan"
)

// annotations is the content of the annotations file as it was last read. The kubelet swaps a
// directory on the path to the file; people edit the file in place. Both change the stamp of the
// file that the path leads to.
type annotations struct {
	path  string
	known []string

	changed chan struct{} // capacity 1: the file may have changed

	seen    plan.Stamp
	missing int // consecutive polls that found no file

	saved *string // the last value of the annotation save; nil: not read yet

	// unknown is true until the file has been read, or has been found missing, for the first time.
	// Later, while the file cannot be read, the last request that was read stays in effect.
	unknown  bool
	request  ask.Request
	problems []ask.Problem
	err      error
}

func newAnnotations(path string, known []string) *annotations {
	return &annotations{path: path, known: known, changed: make(chan struct{}, 1), unknown: path != ""}
}

// missingPolls is how many consecutive polls must find no file before we treat the file as removed:
// an editor may replace it in two steps.
const missingPolls = 2

// poll reads the file if it has changed. It reports whether the request or its
// problems changed.
func (a *annotations) poll(now time.Time) bool {
	if a.path == "" {
		return false
	}
	info, err := os.Stat(a.path)
	if err != nil {
		return a.absent(err)
	}
	a.missing = 0
	if at := plan.StampOf(info); at != a.seen {
		a.seen = at
		if age := now.Sub(info.ModTime()); age >= 0 && age < 2*pollInterval {
			a.seen = plan.Stamp{} // the file may change again within the same tick of the file system's clock
		}
		return a.read()
	}
	return false
}

// exists reports whether there is a file.
func (a *annotations) exists() bool {
	_, err := os.Stat(a.path)
	return err == nil
}

// absent handles a poll that did not find the file. The file is treated as removed after
// missingPolls such polls.
func (a *annotations) absent(err error) bool {
	if a.missing++; a.missing != missingPolls {
		return false
	}
	a.seen = plan.Stamp{}
	if os.IsNotExist(err) {
		return a.set(ask.Request{}, nil)
	}
	return a.fail(fmt.Errorf("look for the annotations: %w", err))
}

func (a *annotations) read() bool {
	// Opening a FIFO must not block.
	fd, err := unix.Open(a.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return a.fail(&fs.PathError{Op: "open the annotations", Path: a.path, Err: err})
	}
	f := os.NewFile(uintptr(fd), a.path)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return a.fail(fmt.Errorf("read the annotations: %s is not a regular file", a.path))
	}
	req, problems, err := ask.ParseAnnotations(f, a.known)
	if err != nil {
		return a.fail(err)
	}
	return a.set(req, problems)
}

// fail records the error and keeps the last request.
func (a *annotations) fail(err error) bool {
	again := a.err != nil && a.err.Error() == err.Error()
	a.err, a.seen = err, plan.Stamp{} // read the file again at the next poll, because the cause of the error may disappear without a change of the file
	return !again
}

// set takes the content of a file that was read. If a group of annotations has become bad, its last
// good request stays in effect.
func (a *annotations) set(req ask.Request, problems []ask.Problem) bool {
	if req.LogBad {
		req.Log = a.request.Log
	}
	if req.TriggerBad {
		req.Trigger, req.TriggerLog = a.request.Trigger, a.request.TriggerLog
	}
	if req.AppLogBad {
		req.AppLog, req.AppLogFor, req.AppLogID = a.request.AppLog, a.request.AppLogFor, a.request.AppLogID
	}
	if req.SaveBad {
		req.Save = a.request.Save
	}
	if req.AdoptedBad {
		req.Adopted, req.SaysAdopted = a.request.Adopted, a.request.SaysAdopted
	}
	same := !a.unknown && a.err == nil && req == a.request && slices.Equal(problems, a.problems)
	a.unknown, a.request, a.problems, a.err = false, req, problems, nil
	return !same
}

// adopted returns the selection for JVMs without an output into the source. configured is the
// sidecar's own setting. The result is unknown until the annotations have been read, and while the
// selection in them is invalid.
func (a *annotations) adopted(configured ask.Selection) (what ask.Selection, known bool) {
	switch {
	case a.unknown || a.request.AdoptedBad:
		return ask.Selection{}, false
	case a.request.SaysAdopted:
		return a.request.Adopted, true
	}
	return configured, true
}
