package powercut

import (
	"hash/maphash"
	"math/rand/v2"
	"path"
	"slices"
)

// The possible remains of a change that is not durable. A truncation or an attribute survives completely or not at
// all.
const (
	none      = iota
	full      // all of it
	grown     // the new size of the file, and zeros for the bytes
	begun     // its first sectors, and the size of the file up to them
	begunFull // its first sectors, and zeros for the others
	ended     // its last sectors, and zeros for the others
	scattered // some sectors, and zeros for the others
	numLeft
)

// sector is the size of the unit that a device writes completely or not at all.
const sector = 512

// options returns how many of these remains are distinct for the change.
func (c change) options() int {
	first, last := c.at/sector, (c.at+int64(len(c.data))-1)/sector
	switch {
	case len(c.data) == 0:
		return full + 1
	case first == last:
		return grown + 1
	}
	return numLeft
}

// apply returns data with the remains of a change. image is the file in the page cache after that change: a sector
// that has survived also has the earlier changes of that sector.
func (c change) apply(data, image []byte, left int) []byte {
	switch {
	case left == none || c.attr != "":
		return data
	case len(c.data) == 0:
		return resized(data, c.at)
	}
	end := c.at + int64(len(c.data))
	random := rand.New(rand.NewPCG(c.seed, 1))
	first, last := c.at/sector, (end-1)/sector
	cut := first + 1 + random.Int64N(max(1, last-first))
	if left == begun {
		end = cut * sector
	}
	data = resized(data, max(int64(len(data)), end))
	for s := first; s <= last; s++ {
		there := left == full || (left == begun || left == begunFull) && s < cut || left == ended && s >= cut
		if left == scattered {
			there = random.IntN(2) == 0
		}
		if from, to := s*sector, min((s+1)*sector, int64(len(data)), int64(len(image))); there && from < to {
			copy(data[from:to], image[from:to])
		}
	}
	return data
}

// cached returns the file in the page cache after a change; image is the file before it.
func (c change) cached(image []byte) []byte {
	if c.attr != "" {
		return image
	}
	if len(c.data) == 0 {
		return resized(image, c.at)
	}
	image = resized(image, max(int64(len(image)), c.at+int64(len(c.data))))
	copy(image[c.at:], c.data)
	return image
}

// resized returns a copy of data with another length.
func resized(data []byte, size int64) []byte {
	fresh := make([]byte, size)
	copy(fresh, data)
	return fresh
}

// state is a directory tree that a power cut may leave.
type state struct {
	files map[string]file
	dirs  []string
}

type file struct {
	data []byte
	attr string
}

// choice is one combination. It has first, for each directory, the number of its entries that have survived;
// then, for each change of a file, its remains.
type choice []int

// open has the changes of a disk that were not durable at a moment.
type open struct {
	disk  *disk
	most  []int // the highest value of each element of a choice
	dirs  []*node
	files []*node

	images map[*node][][]byte // each file in the page cache, after each of its changes
}

func openOf(d *disk) open {
	o := open{disk: d, images: map[*node][][]byte{}}
	named := map[*node]bool{}
	o.name(d.root, named)
	for _, n := range d.nodes {
		if n.dir && len(n.entries) > 0 && named[n] {
			o.dirs = append(o.dirs, n)
			o.most = append(o.most, len(n.entries))
		}
	}
	for _, n := range d.nodes {
		if n.dir || len(n.changes) == 0 || !named[n] {
			continue
		}
		o.files = append(o.files, n)
		image := n.durable
		for _, c := range n.changes {
			o.most = append(o.most, c.options()-1)
			image = c.cached(image)
			o.images[n] = append(o.images[n], image)
		}
	}
	return o
}

// name collects the files and directories that may have a name after the power cut.
func (o open) name(n *node, named map[*node]bool) {
	if n == nil || named[n] {
		return
	}
	named[n] = true
	for _, of := range n.names {
		o.name(of, named)
	}
	for _, e := range n.entries {
		o.name(e.node, named)
	}
}

// choices calls fn with all choices. If there are more than most, it calls fn with extreme choices and random
// others.
func (o open) choices(most int, random *rand.Rand, fn func(choice)) {
	all := 1
	for _, m := range o.most {
		if all *= m + 1; all > most {
			break
		}
	}
	c := make(choice, len(o.most))
	if all <= most {
		for {
			fn(c)
			i := 0
			for ; i < len(c) && c[i] == o.most[i]; i++ {
				c[i] = 0
			}
			if i == len(c) {
				return
			}
			c[i]++
		}
	}
	extremes := o.extremes()
	fn(extremes[0])
	fn(extremes[1])
	extremes = extremes[2:]
	random.Shuffle(len(extremes), func(i, j int) { extremes[i], extremes[j] = extremes[j], extremes[i] })
	extremes = extremes[:min(len(extremes), most*3/4)]
	for _, c := range extremes {
		fn(c)
	}
	for range most - len(extremes) - 2 {
		for i, m := range o.most {
			c[i] = random.IntN(m + 1)
		}
		fn(c)
	}
}

// extremes returns the choice in which no change has survived, the choice in which all have, and
// each of the two with one change that differs.
func (o open) extremes() (all []choice) {
	nothing, everything := make(choice, len(o.most)), make(choice, len(o.most))
	for i, m := range o.most {
		if everything[i] = m; i >= len(o.dirs) {
			everything[i] = full
		}
	}
	all = []choice{nothing, everything}
	for _, others := range []choice{nothing, everything} {
		for i, m := range o.most {
			for v := range m + 1 {
				if v != others[i] {
					c := slices.Clone(others)
					c[i] = v
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// state returns the tree for a choice.
func (o open) state(c choice) state {
	entries, left := map[*node]int{}, map[*node][]int{}
	for i, n := range o.dirs {
		entries[n] = c[i]
	}
	c = c[len(o.dirs):]
	for _, n := range o.files {
		left[n], c = c[:len(n.changes)], c[len(n.changes):]
	}
	s := state{files: map[string]file{}}
	o.take(&s, "", o.disk.root, entries, left)
	slices.Sort(s.dirs)
	return s
}

func (o open) take(s *state, at string, n *node, entries map[*node]int, left map[*node][]int) {
	if n.dir {
		if at != "" {
			s.dirs = append(s.dirs, at)
		}
		for name, of := range n.after(entries[n]) {
			o.take(s, path.Join(at, name), of, entries, left)
		}
		return
	}
	f := file{data: n.durable, attr: n.durableAttr}
	for i, l := range left[n] {
		c := n.changes[i]
		f.data = c.apply(f.data, o.images[n][i], l)
		// File systems keep the order of metadata changes: the attribute precedes the size.
		if c.attr != "" && (l != none || slices.Max(left[n][i:]) > none) {
			f.attr = c.attr
		}
	}
	s.files[at] = f
}

// hash returns the same value for equal states, within this process.
func (s state) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, d := range s.dirs {
		h.WriteString(d)
		h.WriteByte(0)
	}
	names := make([]string, 0, len(s.files))
	for name := range s.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		h.WriteString(name)
		h.WriteByte(0)
		h.WriteString(s.files[name].attr)
		h.WriteByte(0)
		_, _ = h.Write(s.files[name].data) // a hash never fails
		h.WriteByte(1)
	}
	return h.Sum64()
}
