// Command lint limits functions, types and packages to a size that a reader can take in:
//
//	lint DIR...
//	lint -up DIR...
//
// It reads every Go file below the directories, including tests, and prints what is over a limit: a function of too
// many lines; a type with too many fields or methods, including those of embedded types; a package whose files use
// each other in both directions. What is over a limit at present is in exceptions.txt with its number, which may only
// fall.
//
// The files of a package can be read in an order, from its purpose down to its foundations. An arrow leads from a
// file that uses a name to the file that declares it. Even in the best order some arrows run back up, and at each of
// them a reader turns back; -up prints these for each package, with their names.
//
// It also finds phrases at which a native reader stops, in documents, comments and texts of programs.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	show, dirs := "", os.Args[1:]
	if len(dirs) > 0 && dirs[0] == "-up" {
		show, dirs = dirs[0], dirs[1:]
	}
	problems, err := run(show, dirs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	if len(problems) > 0 && show == "" {
		os.Exit(1)
	}
}

// run returns what to print: the arrows if they are to be shown, otherwise what is over a limit.
func run(show string, dirs []string) ([]string, error) {
	prose, err := readProse(".", dirs)
	if err != nil {
		return nil, err
	}
	found, err := packages(dirs)
	if err != nil {
		return nil, err
	}
	var measures []measure
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		measures = append(measures, found[dir].measure(dir))
	}
	if show == "-up" {
		return shown(measures), nil
	}
	t := tree{types: map[string]*kind{}}
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, t.visit); err != nil {
			return nil, err
		}
	}
	for name := range t.types {
		measures = append(measures, t.size(name).measures(name)...)
	}
	excepted, err := exceptions(exceptionsFile)
	if err != nil {
		return nil, err
	}
	return slices.Concat(t.long, judge(measures, excepted), prose.all()), nil
}

// shown returns the numbers of packages with their details.
func shown(measures []measure) (lines []string) {
	for _, m := range measures {
		if m.is > 0 {
			lines = append(lines, fmt.Sprintf("%s has %d %s", m.of, m.is, m.meaning))
			for _, d := range m.details {
				lines = append(lines, "\t"+d)
			}
		}
	}
	return lines
}
