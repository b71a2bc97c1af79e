package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/printable"
)

// Kind classifies errors. Its values are the label values of a metric.
type Kind string

// The kinds of errors. The table of docs/levels.md is made from the comments.
const (
	NoJVM        Kind = "no_jvm"        // the JVM ended during a command, or left only its socket behind
	NotPermitted Kind = "not_permitted" // the error names the uid and gid to run as
	Disabled     Kind = "disabled"      // the JVM runs with `-XX:+DisableAttachMechanism`, has just started, or does not respond to the request to listen
	TooOld       Kind = "too_old"       // a JVM older than JDK 9 has no `VM.log`
	Refused      Kind = "refused"       // the JVM refused the selection; its text is shown. The sidecar does not try the same selection again
	TimedOut     Kind = "timeout"       // no answer within 5 s: the JVM is stopped, or busy with another `jcmd`. The command may still take effect; the sidecar tries again after 1 s to 30 s
	BadReply     Kind = "bad_reply"     // the reply is too long or violates the protocol: it may not come from a JVM
	NotASocket   Kind = "not_a_socket"  // another file has the name of the socket
	OtherError   Kind = "error"
)

// Kinds returns every Kind.
func Kinds() []Kind {
	return []Kind{NoJVM, NotPermitted, Disabled, TooOld, Refused, TimedOut, BadReply, NotASocket, OtherError}
}

// staleSocket is the text of an error of kind NoJVM.
const staleSocket = "no process listens on its attach socket, which a killed JVM left behind (stale socket)"

// maxText is how many bytes of a JVM's answer an Error keeps.
const maxText = 4 << 10

// Error is an error of this package.
type Error struct {
	Kind Kind
	JVM  string // "pid 1", or the path of its socket, or another name
	Text string // the JVM's answer, for Refused and TooOld; else what happened, with advice
	Err  error  // cause, may be nil
}

// Error returns one line without control characters.
func (e *Error) Error() string {
	text := e.Text
	switch e.Kind {
	case Refused:
		text = "VM.log answered: " + strings.TrimSpace(text)
	case TooOld:
		text = "it is too old: log levels can be changed only in JDK 9 or later; it answered: " + strings.TrimSpace(text)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return printable.Line(e.JVM + ": " + text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of the [Error] in err's chain, OtherError if the chain has no [Error],
// and "" for nil.
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

// errOverdue reports that Config.Timeout has passed, as opposed to the deadline
// of the caller's context.
var errOverdue = errors.New("the command took too long")

// classify turns a cause into an *Error. An *Error in the chain of err is returned as it is.
// Otherwise, if the caller's own context has ended, classify reports that end instead of err.
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
		e.Kind, e.Text = TimedOut, "no answer: it may be stopped or busy with another jcmd"
	case errors.Is(err, unix.ECONNREFUSED):
		e.Kind, e.Text = NoJVM, staleSocket
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		e.Kind, e.Text = NoJVM, "it has ended"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Kind, e.Text = NotPermitted, whoMay(j.uid, j.gid)
	}
	return e
}

// whoMay names the user that the sidecar must run as to attach to a JVM.
func whoMay(uid, gid uint32) string {
	if int(uid) == os.Geteuid() && int(gid) == os.Getegid() {
		return fmt.Sprintf("it runs as the sidecar's own uid %d and gid %d, but the kernel refuses access: it may have capabilities that the sidecar lacks", uid, gid)
	}
	jvm := kernel.User{UID: uid, GID: gid}
	return fmt.Sprintf("runs as %s, the sidecar as %d:%d: %s", jvm, os.Geteuid(), os.Getegid(), jvm.Settings())
}
