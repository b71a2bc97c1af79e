package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

// watched returns the output of a watch that gets the next of the answers at each look. An empty answer represents an
// error.
func watched(t *testing.T, answers ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	e := Env{Program: "prog", Stdout: &out, Stderr: &errs}
	code = e.watch(ctx, "status", time.Millisecond, func(context.Context) (string, error) {
		if len(answers) == 0 {
			cancel()
			return "", ctx.Err()
		}
		text := answers[0]
		if answers = answers[1:]; text == "" {
			return "", errors.New("no\nanswer")
		}
		return text, nil
	})
	return out.String(), errs.String(), code
}

func TestAWatchPrintsWhatHasChanged(t *testing.T) {
	if out, errs, code := watched(t, "a\n", "a\n", "b\n", "a\n"); out != "a\nb\na\n" || errs != "" || code != OK {
		t.Errorf(`the exit status is %d, stdout %q, stderr %q; want %d, "a\nb\na\n" and ""`, code, out, errs, OK)
	}
}

func TestAWatchGoesOnPastAnError(t *testing.T) {
	if out, errs, code := watched(t, "a\n", "", "", "b\n"); out != "a\nprog status: no answer\nb\n" || errs != "" || code != OK {
		t.Errorf(`the exit status is %d, stdout %q, stderr %q; want %d, "a\nprog status: no answer\nb\n" and ""`, code, out, errs, OK)
	}
}

func TestAWatchWithoutAFirstAnswerFails(t *testing.T) {
	if out, errs, code := watched(t, "", "a\n"); out != "" || errs != "prog status: no\nprog status: answer\n" || code != Failure {
		t.Errorf(`the exit status is %d, stdout %q, stderr %q; want %d, "" and "prog status: no\nprog status: answer\n"`, code, out, errs, Failure)
	}
}
