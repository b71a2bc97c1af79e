package main

import (
	"fmt"
	"maps"
	"slices"
)

// The limits. A method counts for its type in all files of a package.
const (
	maxLines    = 80 // of a function
	maxFields   = 20 // of a struct, embedded ones included
	maxMethods  = 30
	maxExported = 20 // methods
)

// judge returns one line for each type that is over a limit.
func judge(types map[string]*size) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(types)) {
		is := types[name]
		for _, c := range []struct {
			what      string
			is, limit int
		}{
			{"fields", is.fields, maxFields},
			{"methods", is.methods, maxMethods},
			{"exported methods", is.exported, maxExported},
		} {
			if c.is > c.limit {
				problems = append(problems, fmt.Sprintf("%s has %d %s, at most %d are allowed", name, c.is, c.what, c.limit))
			}
		}
	}
	return problems
}
