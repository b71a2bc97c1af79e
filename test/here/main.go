// Here runs go test for the Makefile on a machine that may lack what tests need. It prints the output of go test.
// Then it prints a line for each reason that begins with "needs" (see lab.Needs): how many tests were skipped for
// that reason, and the command that runs them.
//
//	go run ./test/here -target unit [-list FILE] -- ARGUMENT...
//
// The arguments are those of go test. With -list, as in make test, the lines are appended to a file instead, and a
// package that cannot run here at all does not fail (see test/jvm).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	target := flag.String("target", "", "the target of the Makefile that runs the tests")
	list := flag.String("list", "", "append what was skipped to this file, instead of printing it")
	flag.Parse()
	passed, err := run(*target, *list, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "here:", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

// run runs go test and reports whether all tests passed.
func run(target, list string, args []string) (passed bool, err error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	if list != "" {
		cmd.Env = append(os.Environ(), "ULLAGE_HERE=1")
	}
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return false, fmt.Errorf("read the results: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("start go test: %w", err)
	}
	skipped, err := follow(stream, os.Stdout)
	if err != nil {
		_, _ = io.Copy(io.Discard, stream) // go test waits for its reader
	}
	var failed *exec.ExitError
	if end := cmd.Wait(); end != nil && !errors.As(end, &failed) {
		err = errors.Join(err, fmt.Errorf("run go test: %w", end))
	}
	return failed == nil, errors.Join(err, record(list, target, skipped))
}

// An event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// reason matches a line in which a test, or a package that cannot run here, names what it needs.
var reason = regexp.MustCompile(`^(?:\s+\S+\.go:\d+: )?(needs .+)\n`)

// follow prints what go test prints without -v, and returns how often skipped tests or packages gave each reason.
func follow(stream io.Reader, out io.Writer) (skipped map[string]int, err error) {
	skipped = map[string]int{}
	said := map[string][]string{} // by test
	lines := json.NewDecoder(bufio.NewReader(stream))
	for {
		var e event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return skipped, nil
		} else if err != nil {
			return skipped, fmt.Errorf("read the results: %w", err)
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "build-output", e.Action == "output" && e.Test == "" && e.Output != "PASS\n":
			if found := reason.FindStringSubmatch(e.Output); found != nil {
				skipped[found[1]]++
			}
			fmt.Fprint(out, e.Output)
		case e.Action == "output":
			said[key] = append(said[key], e.Output)
		case e.Action == "fail" && e.Test == "":
			for _, test := range slices.Sorted(maps.Keys(said)) { // tests that ran when the process died
				if strings.HasPrefix(test, key) {
					fmt.Fprint(out, strings.Join(said[test], ""))
					delete(said, test)
				}
			}
		case e.Action == "fail":
			fmt.Fprint(out, strings.Join(said[key], ""))
			delete(said, key)
		case e.Action == "skip":
			for _, line := range said[key] {
				if found := reason.FindStringSubmatch(line); found != nil {
					skipped[found[1]]++
				}
			}
			delete(said, key)
		case e.Action == "pass":
			delete(said, key)
		}
	}
}

// record appends a line for each reason to the list, or prints it.
func record(list, target string, skipped map[string]int) error {
	if list == "" {
		for _, line := range summary(target, skipped) {
			fmt.Println(line)
		}
		return nil
	}
	f, err := os.OpenFile(list, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the list of what was skipped: %w", err)
	}
	for _, line := range summary(target, skipped) {
		fmt.Fprintln(f, line)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the list of what was skipped: %w", err)
	}
	return nil
}

// summary returns a line for each reason: how many tests, why, and the command that runs them.
func summary(target string, skipped map[string]int) (lines []string) {
	for why, n := range skipped {
		command := "make setup " + target
		if strings.HasPrefix(why, "needs root") {
			command = `sudo -E env "PATH=$PATH" make ` + target
		}
		lines = append(lines, fmt.Sprintf("%s: %d skipped: %s: %s", target, n, why, command))
	}
	slices.Sort(lines)
	return lines
}
