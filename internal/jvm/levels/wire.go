package levels

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
	"github.com/ullage/ullage/internal/line/ul"
)

// The verbs of a request.
const (
	verbList   = "list"
	verbSet    = "set"
	verbReset  = "reset"
	verbRotate = "rotate"
	verbSave   = "save"
)

// Bounds on what goes over the socket. Any process that may write to the state
// directory can be the peer, including the application.
const (
	maxRequest = 4 << 10 // bytes
	maxReply   = 4 << 20
	maxListed  = 256 << 10 // bytes of text; JSON may need six for one

	// maxElements bounds the memory of a decoded reply. Lists of 16 JVMs with 256
	// outputs each have fewer.
	maxElements = 64 << 10
)

// request is what a command asks of the keeper, as one line of JSON. It can ask
// for nothing but what `ullage log` does.
type request struct {
	Verb      string   `json:"verb"`
	ask.Raise          // for set
	App       ul.Level `json:"app,omitzero"`  // for set: raise the application's events instead of a selection
	PID       int      `json:"pid,omitempty"` // for list and rotate: the only JVM to act on; 0: all

	by string // the process that sent it, as the kernel says; empty: unknown
}

// check returns an error if the request is invalid.
func (r request) check() error {
	if r.PID != 0 && r.Verb != verbList && r.Verb != verbRotate {
		return errors.New("levels are those of all JVMs of the source: leave out --pid")
	}
	switch r.Verb {
	case verbList, verbRotate, verbReset, verbSave:
	case verbSet:
		switch {
		case r.App == ul.Unknown:
			return r.Check()
		case r.Raise != ask.Raise{For: r.For}:
			return errors.New("a raise is of the application's events or of a selection: ask for one at a time")
		}
		return ask.CheckFor(r.For)
	default:
		return fmt.Errorf("%q is not a request: ask for list, set, reset, rotate or save", printable.Escaped(r.Verb, 64))
	}
	return nil
}

// reply is the answer to a request: one JSON document, up to the end of the
// connection.
type reply struct {
	Errors  []string         `json:"errors,omitempty"`
	NoJVM   bool             `json:"noJVM,omitempty"`   // for list: the error is a NoJVMError
	Changes []plan.Change    `json:"changes,omitempty"` // for set and reset
	Until   time.Time        `json:"until,omitzero"`    // for set: the end of the raise
	App     ul.Level         `json:"app,omitzero"`      // for reset: what the application's events were raised to
	Listed  []outputs.Listed `json:"listed,omitempty"`  // for list and rotate
	Saving  *Saving          `json:"saving,omitempty"`  // for save
}

func decodeReply(text []byte) (r reply, err error) {
	err = untrusted.Decode(text, maxElements, &r)
	return r, err
}

// err joins the errors of a reply.
func (r reply) err() error {
	if r.NoJVM && len(r.Errors) == 1 {
		return &outputs.NoJVMError{Text: r.Errors[0]}
	}
	var all []error
	for _, text := range r.Errors {
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}

// tooOld returns an error if a reply shows that the keeper, an older ullage,
// does not know a field of the request r. Such a keeper has done nothing.
func (r request) tooOld(answer reply) error {
	if r.App != ul.Unknown && len(answer.Errors) == 1 && strings.Contains(answer.Errors[0], `unknown field "app"`) {
		return errors.New("the ullage that keeps the levels is older than this one and cannot raise the application's events: update it")
	}
	if r.Stream != "" && len(answer.Errors) == 1 && strings.Contains(answer.Errors[0], `unknown field "stream"`) {
		return errors.New("the ullage that keeps the levels is older than this one and cannot raise one stream alone: update it, or raise without --stream")
	}
	return nil
}

// failed returns a reply with the errors, without duplicates.
func failed(err error) (r reply) {
	for _, e := range split(err) {
		if text := e.Error(); !slices.Contains(r.Errors, text) {
			r.Errors = append(r.Errors, text)
		}
	}
	var none *outputs.NoJVMError
	r.NoJVM = errors.As(err, &none)
	return r
}
