package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/line/loggers"
)

// The verbs of a request.
const (
	VerbList   = "list"
	VerbSet    = "set"
	VerbReset  = "reset"
	VerbRotate = "rotate"
	VerbSave   = "save"
)

// Bounds on what is sent over the socket. Any process that may write to the state directory can
// be the peer, including the application.
const (
	maxRequest = 4 << 10 // bytes
	maxReply   = 4 << 20
	maxListed  = 256 << 10 // bytes of text; JSON may need six bytes for each

	// maxElements bounds the memory of a decoded reply. Lists of 16 JVMs with 256
	// outputs each have fewer.
	maxElements = 64 << 10
)

// Request is what a command asks of the owner, as one line of JSON. It can ask only for what
// `ullage levels` does.
type Request struct {
	Verb      string         `json:"verb"`
	ask.Raise                // for set
	App       loggers.Levels `json:"app,omitzero"`  // for set, instead of a selection: levels of the application's events
	PID       int            `json:"pid,omitempty"` // for list and rotate: the only JVM to act on; 0: all

	By string `json:"-"` // the process that sent it, according to the kernel; empty: unknown
}

// check returns an error if the request is invalid.
func (r Request) check() error {
	if r.PID != 0 && r.Verb != VerbList && r.Verb != VerbRotate {
		return errors.New("levels apply to all JVMs of the source: leave out --pid")
	}
	switch r.Verb {
	case VerbList, VerbRotate, VerbReset, VerbSave:
	case VerbSet:
		switch {
		case r.App.IsZero():
			return r.Check()
		case r.Raise != ask.Raise{For: r.For}:
			return errors.New("a raise has either a selection or levels of the application's events: use one at a time")
		}
		return ask.CheckFor(r.For)
	default:
		return fmt.Errorf("%q is not a request: ask for list, set, reset, rotate or save", printable.Escaped(r.Verb, 64))
	}
	return nil
}

// Reply is the answer to a request: one JSON document, which ends with the connection.
type Reply struct {
	Errors  []string         `json:"errors,omitempty"`
	NoJVM   bool             `json:"noJVM,omitempty"`   // for list: the error is a NoJVMError
	Changes []plan.Change    `json:"changes,omitempty"` // for set and reset
	Until   time.Time        `json:"until,omitzero"`    // for set: the end of the raise
	App     loggers.Levels   `json:"app,omitzero"`      // for reset: the levels to which the application's events were raised
	Listed  []outputs.Listed `json:"listed,omitempty"`  // for list and rotate
	Saving  *Saving          `json:"saving,omitempty"`  // for save
}

func decodeReply(text []byte) (r Reply, err error) {
	err = untrusted.Decode(text, maxElements, &r)
	return r, err
}

// err joins the errors of a reply.
func (r Reply) err() error {
	if r.NoJVM && len(r.Errors) == 1 {
		return &outputs.NoJVMError{Text: r.Errors[0]}
	}
	var all []error
	for _, text := range r.Errors {
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}

// Listing is the reply to a request to list or rotate.
func Listing(listed []outputs.Listed, err error) Reply {
	if size(listed) > maxListed {
		return Failed(fmt.Errorf("the JVMs list more than %d KiB of outputs", maxListed>>10))
	}
	r := Failed(err)
	r.Listed = listed
	return r
}

// size returns how many bytes of text a list contains.
func size(listed []outputs.Listed) (n int) {
	for _, l := range listed {
		n += len(l.JVM.Main) + len(l.JVM.Version) + len(l.JVM.Collector) + len(l.JVM.Flags)
		for _, o := range l.Outputs {
			n += len(o.Name) + len(o.Selection) + len(o.Decorators) + len(o.Options) + len(o.Raised) + len(o.Problem)
		}
	}
	return n
}

// Saving is the result of a request to save withheld lines.
type Saving struct {
	From  time.Time `json:"from,omitzero"` // when the oldest lines that are held were written
	Until time.Time `json:"until"`         // lines that are written until then are also saved
	Bytes int64     `json:"bytes"`         // bytes that are held, compressed
}

// tooOld returns an error if a reply shows that the owner, an older ullage, does not know a field
// of the request r. Such an owner has done nothing.
func (r Request) tooOld(answer Reply) error {
	if !r.App.IsZero() && len(answer.Errors) == 1 && strings.Contains(answer.Errors[0], `unknown field "app"`) {
		return errors.New("the 'ullage run' that manages the levels is older than this command and cannot raise the application's events: update it")
	}
	if r.Stream != "" && len(answer.Errors) == 1 && strings.Contains(answer.Errors[0], `unknown field "stream"`) {
		return errors.New("the 'ullage run' that manages the levels is older than this command and cannot raise a single stream: update it, or raise without --stream")
	}
	return nil
}

// Failed returns a reply with the errors, without duplicates.
func Failed(err error) (r Reply) {
	for _, e := range Split(err) {
		if text := e.Error(); !slices.Contains(r.Errors, text) {
			r.Errors = append(r.Errors, text)
		}
	}
	var none *outputs.NoJVMError
	r.NoJVM = errors.As(err, &none)
	return r
}

// Split separates the errors that errors.Join has joined. An error that wraps two others and adds
// text of its own stays whole.
func Split(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Split(e)...)
	}
	return all
}
