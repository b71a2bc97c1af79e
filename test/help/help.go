// Package help holds what the help of every program must have.
package help

import (
	"regexp"
	"slices"
	"testing"
)

// exampleSection is the part of a command's help that can be copied to a shell.
var exampleSection = regexp.MustCompile(`(?m)^Examples?:\n  \S`)

// tooWide is prose that a terminal of 80 columns breaks within a word.
var tooWide = regexp.MustCompile(`(?m)^\S.{80,}$`)

// HasExamples requires an example, and prose of at most 80 columns, in the help of every command that the usage of a
// program lists. Help returns what `PROGRAM COMMAND --help` prints.
func HasExamples(t *testing.T, program, usage string, help func(command string) string) {
	t.Helper()
	var commands []string
	for _, m := range regexp.MustCompile(`(?m)^  `+program+` ([a-z]+) `).FindAllStringSubmatch(usage, -1) {
		if m[1] != "help" && !slices.Contains(commands, m[1]) {
			commands = append(commands, m[1])
		}
	}
	if len(commands) < 2 {
		t.Fatalf("the usage of %s lists the commands %q", program, commands)
	}
	for _, command := range commands {
		text := help(command)
		if !exampleSection.MatchString(text) {
			t.Errorf("the help of %s %s has no example:\n%s", program, command, text)
		}
		// Commands to copy, which are indented, may be longer.
		for _, line := range tooWide.FindAllString(text, -1) {
			t.Errorf("the help of %s %s has a line of more than 80 columns:\n%s", program, command, line)
		}
	}
}
