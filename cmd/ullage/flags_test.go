package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/base/cli"
)

// If a subcommand were missing in the list, its variables would be reported as misspelt.
func TestFlagNamesAreThoseOfAllSubcommands(t *testing.T) {
	var commands [][]string
	for _, m := range regexp.MustCompile(`(?m)^  ullage (\S+)  +\S`).FindAllStringSubmatch(program().Usage("ullage"), -1) {
		commands = append(commands, []string{m[1]})
	}
	if len(commands) < 10 {
		t.Fatalf("the usage has only the commands %q, want at least 10", commands)
	}
	for _, verb := range []string{"list", "set", "reset", "rotate", "save"} {
		commands = append(commands, []string{"levels", verb})
	}
	names, found := flagNames(), 0
	for _, command := range commands {
		var out strings.Builder
		dispatch(t.Context(), append(command, "--help"), cli.Env{Program: "ullage", Stdout: &out, Stderr: &out, LookupEnv: func(string) (string, bool) { return "", false }})
		_, flags, _ := strings.Cut(out.String(), "\nFlags (")
		for _, m := range regexp.MustCompile(`(?m)^  --?([a-z][a-z-]*)`).FindAllStringSubmatch(flags, -1) {
			if found++; !slices.Contains(names, m[1]) {
				t.Errorf("ullage %s has --%s, but flagNames does not return it", strings.Join(command, " "), m[1])
			}
		}
	}
	if found < len(names)/2 {
		t.Errorf("the help texts contain only %d flags, want at least %d", found, len(names)/2)
	}
}
