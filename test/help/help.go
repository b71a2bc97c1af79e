// Package help checks what the help of every program must have.
package help

import (
	"regexp"
	"slices"
	"testing"
)

// exampleSection matches the part of a command's help that can be copied to a shell, right after the usage.
var exampleSection = regexp.MustCompile(`(?m)^Usage:\n(?:  .*\n)+\nExamples?:\n((?:  .*\n)+)`)

// tooWide matches prose that a terminal of 80 columns breaks within a word.
var tooWide = regexp.MustCompile(`(?m)^\S.{80,}$`)

// tooLong matches any other line that is too wide.
var tooLong = regexp.MustCompile(`(?m)^.{101,}$`)

// HasExamples checks the help of every command in the usage of a program. It requires an example before any prose,
// prose of at most 80 columns, and at most 100 columns for everything except commands to copy. Help returns the
// output of `PROGRAM COMMAND --help`.
func HasExamples(t *testing.T, program, usage string, help func(command string) string) {
	t.Helper()
	var commands []string
	for _, m := range regexp.MustCompile(`(?m)^  `+program+` ([a-z]+) `).FindAllStringSubmatch(usage, -1) {
		if m[1] != "help" && !slices.Contains(commands, m[1]) {
			commands = append(commands, m[1])
		}
	}
	if len(commands) < 2 {
		t.Fatalf("the usage of %s lists the commands %q, want at least 2", program, commands)
	}
	for _, command := range commands {
		text := help(command)
		at := exampleSection.FindStringSubmatchIndex(text)
		if at == nil {
			t.Errorf("the help of %s %s has no example after its usage:\n%s", program, command, text)
			continue
		}
		text = text[:at[2]] + text[at[3]:]
		for _, line := range append(tooWide.FindAllString(text, -1), tooLong.FindAllString(text, -1)...) {
			t.Errorf("the help of %s %s has a line that is too wide:\n%s", program, command, line)
		}
	}
}
