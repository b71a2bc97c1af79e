package main

import (
	"cmp"
	"slices"
)

// order returns the files of a package such that few arrows run back up: users come before what they use. The minimum
// cannot be found in a reasonable time, so this is the best of three attempts: from the order of [arrows.greedy], from
// the order of the names and from its reverse, one file at a time moves to where the fewest arrows run back, until no
// move makes them fewer. Ties are broken by name. A hundred times as many starting points save at most one arrow.
func (a arrows) order() []string {
	byName := make([]string, 0, len(a))
	for file := range a {
		byName = append(byName, file)
	}
	slices.Sort(byName)
	reverse := slices.Clone(byName)
	slices.Reverse(reverse)
	var best []string
	for _, begin := range [][]string{a.greedy(byName), byName, reverse} {
		if settled := a.settle(begin, byName); best == nil || len(a.up(settled)) < len(a.up(best)) {
			best = settled
		}
	}
	return best
}

// greedy puts a file that uses none of the others at the bottom, and a file that none of the others uses at the top,
// and continues with the rest. If there is no such file, the file with the largest difference between arrows from it
// and arrows to it goes to the top.
func (a arrows) greedy(files []string) []string {
	left := slices.Clone(files)
	var top, bottom []string // bottom is in reverse order
	for len(left) > 0 {
		out, in := a.degrees(left)
		take := func(file string, to *[]string) {
			*to = append(*to, file)
			left = slices.DeleteFunc(left, func(f string) bool { return f == file })
		}
		if i := slices.IndexFunc(left, func(f string) bool { return out[f] == 0 }); i >= 0 {
			take(left[i], &bottom)
		} else if i := slices.IndexFunc(left, func(f string) bool { return in[f] == 0 }); i >= 0 {
			take(left[i], &top)
		} else {
			take(slices.MaxFunc(left, func(f, g string) int { return cmp.Compare(out[f]-in[f], out[g]-in[g]) }), &top)
		}
	}
	slices.Reverse(bottom)
	return append(top, bottom...)
}

// degrees counts the arrows from and to each file, among the files.
func (a arrows) degrees(files []string) (out, in map[string]int) {
	out, in = map[string]int{}, map[string]int{}
	for _, from := range files {
		for _, to := range files {
			if a[from][to] != nil {
				out[from]++
				in[to]++
			}
		}
	}
	return out, in
}

// settle moves files, in the order of their names, until no move makes fewer arrows run back up.
func (a arrows) settle(order, byName []string) []string {
	order = slices.Clone(order)
	for moved := true; moved; {
		moved = false
		for _, file := range byName {
			was := slices.Index(order, file)
			rest := slices.Delete(slices.Clone(order), was, was+1)
			// at says for each place how many more arrows run back up than with the file at the top. For each file
			// that it passes on its way down, the arrow from that file no longer runs back, but the arrow to that
			// file does.
			n, least, place := 0, 0, 0
			var at []int
			for i := 0; i <= len(rest); i++ {
				at = append(at, n)
				if n < least {
					least, place = n, i
				}
				if i < len(rest) {
					if a[rest[i]][file] != nil {
						n--
					}
					if a[file][rest[i]] != nil {
						n++
					}
				}
			}
			if least < at[was] {
				order = slices.Insert(rest, place, file)
				moved = true
			}
		}
	}
	return order
}
