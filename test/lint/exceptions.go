package main

import (
	"fmt"
	"maps"
	"slices"
)

// exception lets a type be over a limit, up to the sizes that it gives. A zero
// size means that the limit holds.
type exception struct {
	size
	why string
}

// exceptions are the types that are over a limit today.
var exceptions = map[string]exception{
	"internal/tail.File":   {size{fields: 26, methods: 34}, "what a position is checked with could be a type of its own"},
	"internal/tail.Source": {size{methods: 112, exported: 40}, "a scan, a read, a relief and a reclaim are to become types of their own"},
}

// judge returns one line for each type that is over a limit or its exception,
// and for each exception that is not needed.
func judge(types map[string]*size, known map[string]exception) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(types)) {
		is, may := types[name], known[name]
		for _, c := range []struct {
			what           string
			is, may, limit int
		}{
			{"fields", is.fields, may.fields, maxFields},
			{"methods", is.methods, may.methods, maxMethods},
			{"exported methods", is.exported, may.exported, maxExported},
		} {
			switch {
			case c.is > max(c.limit, c.may):
				problems = append(problems, fmt.Sprintf("%s has %d %s, at most %d are allowed", name, c.is, c.what, max(c.limit, c.may)))
			case c.may > 0 && c.is <= c.limit:
				problems = append(problems, fmt.Sprintf("%s has %d %s: the exception for %d is no longer needed, remove it from test/lint/exceptions.go", name, c.is, c.what, c.may))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		switch e := known[name]; {
		case types[name] == nil:
			problems = append(problems, fmt.Sprintf("%s does not exist: remove its exception from test/lint/exceptions.go", name))
		case e.why == "" || e.size == size{}:
			problems = append(problems, fmt.Sprintf("%s: an exception needs a reason and a size", name))
		}
	}
	return problems
}
