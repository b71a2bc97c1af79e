package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/printable"
)

// Kind tells errors apart. Its values are the label values of a metric.
type Kind string

// The kinds of errors.
const (
	NoJVM        Kind = "no_jvm"        // there is none, only its socket is left, or it ended
	NotPermitted Kind = "not_permitted" // the text says which uid and gid are needed and which we have
	Disabled     Kind = "disabled"      // it was started so that nobody can attach, nothing came of the attempt, or it has only just started
	TooOld       Kind = "too_old"       // it does not know the protocol's version, or not VM.log
	Refused      Kind = "refused"       // VM.log answered with a text
	TimedOut     Kind = "timeout"       // the command may still take effect
	BadReply     Kind = "bad_reply"     // too long, or not in the protocol's form
	NotASocket   Kind = "not_a_socket"  // something else has the socket's name
	OtherError   Kind = "error"
)

// Kinds returns every Kind.
func Kinds() []Kind {
	return []Kind{NoJVM, NotPermitted, Disabled, TooOld, Refused, TimedOut, BadReply, NotASocket, OtherError}
}

// maxText is how many bytes of a JVM's answer an Error keeps.
const maxText = 4 << 10

// Error is what this package returns of its own. The zero value says nothing.
type Error struct {
	Kind Kind
	JVM  string // "pid 1", or the path that stands for it
	Text string // what the JVM answered, for Refused and TooOld; else what happened, and what to do about it
	Err  error  // cause, may be nil
}

// Error returns one line without control characters.
func (e *Error) Error() string {
	text := e.Text
	switch e.Kind {
	case Refused:
		text = "VM.log answered: " + strings.TrimSpace(text)
	case TooOld:
		text = "it has no VM.log, which needs JDK 9 or newer, and answered: " + strings.TrimSpace(text)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return printable.Line(e.JVM + ": " + text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of the [Error] in err's chain, OtherError if there
// is none, and "" for nil.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	}
	return OtherError
}

// errOverdue ends what has taken longer than Config.Timeout, as opposed to
// longer than the caller's context.
var errOverdue = errors.New("the command took too long")

// classify makes an *Error of a cause. The caller's own context goes first:
// whatever failed then failed because of it.
func classify(ctx context.Context, j JVM, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	e = &Error{Kind: OtherError, JVM: j.String(), Text: "attach", Err: err}
	switch {
	case ctx.Err() != nil:
		e.Text, e.Err = "gave up", ctx.Err()
		if errors.Is(e.Err, context.DeadlineExceeded) {
			e.Kind = TimedOut
		}
	case errors.Is(err, errOverdue):
		e.Kind, e.Text = TimedOut, "no answer, it may be stopped or busy with another jcmd"
	case errors.Is(err, unix.ECONNREFUSED):
		e.Kind, e.Text = NoJVM, "nobody listens on its attach socket, which a JVM has left behind that was killed (stale socket)"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		e.Kind, e.Text = NoJVM, "it is gone"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Kind, e.Text = NotPermitted, whoMay(j.uid, j.gid)
	}
	return e
}

// whoMay tells whom the sidecar has to run as to speak to a JVM.
func whoMay(uid, gid uint32) string {
	if int(uid) == os.Geteuid() && int(gid) == os.Getegid() {
		return fmt.Sprintf("runs as uid %d gid %d as we do, but the kernel refuses: it may have capabilities that the sidecar has not", uid, gid)
	}
	return fmt.Sprintf("runs as uid %d gid %d, we as %d:%d: run the sidecar with runAsUser %d and runAsGroup %d",
		uid, gid, os.Geteuid(), os.Getegid(), uid, gid)
}
