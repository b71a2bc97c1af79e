// Command lint holds functions and types to a size that a reader can take in:
//
//	lint DIR...
//
// It reads every Go file below the directories, tests included, and prints each
// function and each type that is over a limit. There are no exceptions.
//
// A function longer than a screen is not read. A type with more fields or
// methods than the limits is two types.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	t := tree{types: map[string]*size{}}
	for _, dir := range os.Args[1:] {
		if err := filepath.WalkDir(dir, t.visit); err != nil {
			fmt.Fprintln(os.Stderr, "lint:", err)
			os.Exit(2)
		}
	}
	problems := append(t.long, judge(t.types)...)
	for _, p := range problems {
		fmt.Println(p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}
