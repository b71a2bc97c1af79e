package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
)

// optionsMark is contained in the options that the injector adds.
const optionsMark = "-Xlog:"

const variableAnnotation = ask.Prefix + "options-variable"

// hidden looks for options that the image or envFrom sets and that the injector's options would replace. Such options
// are visible only in a container that runs without a sidecar. hidden must be called after the trial.
func (d *doctor) hidden(ctx context.Context) []finding {
	p := d.subject.pod
	if p == nil || d.trial.pod == nil {
		return nil
	}
	var all []finding
	for _, c := range d.trial.pod.Spec.Containers {
		name := c.optionsVariable()
		if name == "" || d.subject.sets(c.Name, name) {
			continue
		}
		out, err := d.cluster.in(p.Metadata.Namespace).run(ctx, maxStatus, "exec", "pod/"+p.Metadata.Name, "--container="+c.Name, "--", "printenv", name)
		var exit *exec.ExitError
		switch value := strings.TrimSpace(string(out)); {
		case err == nil && value != "":
			all = append(all, finding{markProblem, fmt.Sprintf("the image of container %s, or its envFrom, sets %s, which the injector would overwrite: %s", c.Name, name, printable.Clip(value, maxProblems)),
				"repeat the value in the pod's env, or name another variable with the annotation " + variableAnnotation})
		case err == nil, errors.As(err, &exit) && exit.ExitCode() == 1: // the variable is not set
		default:
			all = append(all, finding{markUnknown, fmt.Sprintf("whether the image of container %s, or its envFrom, sets %s: 'printenv' in it: %v", c.Name, name, err),
				"look at the image's configuration: 'docker image inspect' or 'crane config'"})
		}
	}
	return all
}

// optionsVariable returns the variable that holds the injector's options, or nothing.
func (c container) optionsVariable() string {
	for _, v := range c.Env {
		if strings.Contains(v.Value, optionsMark) {
			return v.Name
		}
	}
	return ""
}

// sets reports whether the pod itself sets the variable. If it does, the pod's value already replaces any value from
// the image or envFrom.
func (s subject) sets(containerName, variable string) bool {
	for _, c := range s.pod.Spec.Containers {
		for _, v := range c.Env {
			if c.Name == containerName && v.Name == variable {
				return true
			}
		}
	}
	return false
}
