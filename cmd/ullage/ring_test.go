package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/base/cli"
)

func TestRingPrintsWhatIsInAFile(t *testing.T) {
	const golden = "../../internal/ship/ring/testdata/golden.ring"
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"a ring":    {[]string{golden}, cli.OK, "Z (+0.000000000): ", "ullage ring: 2 events were dropped since the JVM's start: the ring was full\n"},
		"no ring":   {[]string{"ring_test.go"}, cli.Failure, "", "ring_test.go: read header: it does not begin as a ring does"},
		"nothing":   {[]string{"none"}, cli.Failure, "", "none does not exist"},
		"no name":   {nil, cli.Usage, "", "no file given"},
		"two names": {[]string{golden, golden}, cli.Usage, "", "unexpected"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			e := cli.Env{Program: "ullage", Stdout: &out, Stderr: &errs, LookupEnv: func(string) (string, bool) { return "", false }}
			code := dispatch(context.Background(), append([]string{"ring"}, c.args...), e)
			if code != c.code || !strings.Contains(out.String(), c.stdout) || !strings.Contains(errs.String(), c.stderr) || (c.stdout == "") != (out.Len() == 0) {
				t.Errorf("exit %d, %.300q, %q", code, out.String(), errs.String())
			}
		})
	}
}
