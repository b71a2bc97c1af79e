package powercut

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// disk models the file system of a destination: its durable content, and the changes that are not
// durable.
type disk struct {
	at    string // its path
	root  *node
	nodes []*node // all nodes, including deleted ones
	fds   map[int]*offset
}

// offset is the position of the next write of a descriptor.
type offset struct {
	path string
	at   int64
}

// node is a file or a directory.
type node struct {
	id      int
	dir     bool
	name    string // the path at its creation, for failure messages
	durable []byte // the content of a file at its last sync
	changes []change
	// durableAttr is the value of a file's only extended attribute.
	durableAttr string

	names   map[string]*node // the entries of a directory at its last sync
	entries []entry
}

// change is one non-durable change of a file. A change without data truncates the file to the offset.
type change struct {
	at   int64
	data []byte
	seed uint64 // decides how the write is torn
	attr string // the change is only an extended attribute with that value
}

// entry is one non-durable change of a directory: it removes a name, adds a name, or does both at once.
type entry struct {
	removed, added string
	node           *node
}

func newDisk(at string) *disk {
	d := &disk{at: at, fds: map[int]*offset{}}
	d.root = d.add(true, "")
	return d
}

func (d *disk) add(dir bool, name string) *node {
	n := &node{id: len(d.nodes), dir: dir, name: name}
	if dir {
		n.names = map[string]*node{}
	}
	d.nodes = append(d.nodes, n)
	return n
}

// clone returns a copy without descriptors. The two share only bytes that never change.
func (d *disk) clone() *disk {
	c := &disk{at: d.at, nodes: make([]*node, len(d.nodes))}
	for i, n := range d.nodes {
		copied := *n
		copied.changes = slices.Clip(n.changes)
		c.nodes[i] = &copied
	}
	for _, n := range c.nodes {
		names := map[string]*node{}
		for name, of := range n.names {
			names[name] = c.nodes[of.id]
		}
		n.names = names
		n.entries = slices.Clone(n.entries)
		for i, e := range n.entries {
			if e.node != nil {
				n.entries[i].node = c.nodes[e.node.id]
			}
		}
	}
	c.root = c.nodes[d.root.id]
	return c
}

// after returns the names in a directory once n.entries[:entries] are applied.
func (n *node) after(entries int) map[string]*node {
	names := make(map[string]*node, len(n.names)+entries)
	for name, of := range n.names {
		names[name] = of
	}
	for _, e := range n.entries[:entries] {
		delete(names, e.removed)
		if e.node != nil {
			names[e.added] = e.node
		}
	}
	return names
}

// find returns the node that a process finds at a path, or nil.
func (d *disk) find(p string) *node {
	n := d.root
	for name := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if n == nil || name == "" || name == "." {
			continue
		}
		n = n.after(len(n.entries))[name]
	}
	return n
}

// inside returns the part of a path below the disk's root.
func (d *disk) inside(p string) (string, bool) {
	p = path.Clean(p)
	if p == d.at {
		return "", true
	}
	return strings.CutPrefix(p, d.at+"/")
}

func (d *disk) dirOf(p string) (*node, error) {
	dir := d.find(path.Dir("/" + p))
	if dir == nil {
		return nil, fmt.Errorf("%s: its directory was never made", p)
	}
	return dir, nil
}

// sync makes a file or a directory durable.
func (n *node) sync() {
	if n.dir {
		n.names, n.entries = n.after(len(n.entries)), nil
		return
	}
	for _, c := range n.changes {
		n.durable = c.cached(n.durable)
		if c.attr != "" {
			n.durableAttr = c.attr
		}
	}
	n.changes = nil
}

// apply applies one call to the disk, and reports whether the call changed the disk, durably or not. An unknown call
// on the disk is an error.
func (d *disk) apply(c call, seed uint64) (changed bool, err error) {
	switch c.name {
	case "openat":
		return d.open(c)
	case "write", "pwrite64":
		return d.write(c, seed)
	case "ftruncate", "fsync", "fdatasync", "sync_file_range", "fsetxattr":
		return d.ofFile(c)
	case "mkdirat", "unlinkat", "renameat", "renameat2":
		return d.ofName(c)
	case "mmap":
		if len(c.args) < 5 || !strings.Contains(c.args[2], "PROT_WRITE") || !strings.Contains(c.args[3], "MAP_SHARED") {
			return false, nil
		}
		_, p := c.descriptor(4)
		return false, d.refuse(c, p)
	case "sync", "syncfs":
		return false, d.refuse(c, d.at)
	}
	for i := range c.args {
		if strings.HasPrefix(c.args[i], `"`) {
			if text, err := c.bytes(i); err == nil {
				if err := d.refuse(c, string(text)); err != nil {
					return false, err
				}
			}
		} else if _, p := c.descriptor(i); p != "" {
			if err := d.refuse(c, p); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// refuse returns an error for a call that the model does not know, if the path is on the disk.
func (d *disk) refuse(c call, p string) error {
	if _, ours := d.inside(p); !ours {
		return nil
	}
	return fmt.Errorf("the model does not know %s of %s", c.name, p)
}

// open records the descriptor, and the creation or truncation of the file.
func (d *disk) open(c call) (changed bool, err error) {
	full, err := c.path(0)
	if err != nil {
		return false, err
	}
	delete(d.fds, int(c.result))
	p, ours := d.inside(full)
	if !ours {
		return false, nil
	}
	if strings.Contains(c.args[2], "SYNC") || strings.Contains(c.args[2], "O_APPEND") {
		return false, d.refuse(c, full)
	}
	d.fds[int(c.result)] = &offset{path: p}
	n := d.find(p)
	switch {
	case n == nil && strings.Contains(c.args[2], "O_CREAT"):
		dir, err := d.dirOf(p)
		if err != nil {
			return false, err
		}
		dir.entries = append(dir.entries, entry{added: path.Base(p), node: d.add(false, p)})
		return true, nil
	case n == nil:
		return false, fmt.Errorf("%s was opened, but was never created", p)
	case strings.Contains(c.args[2], "O_TRUNC"):
		n.changes = append(n.changes, change{})
		return true, nil
	}
	return false, nil
}

// write handles write and pwrite64.
func (d *disk) write(c call, seed uint64) (changed bool, err error) {
	fd, full := c.descriptor(0)
	p, ours := d.inside(full)
	if !ours || strings.HasSuffix(full, deleted) {
		return false, nil
	}
	n := d.find(p)
	if n == nil {
		return false, fmt.Errorf("%s was written, but was never created", p)
	}
	data, err := c.bytes(1)
	if err != nil {
		return false, err
	}
	data = data[:c.result]
	at := int64(0)
	if c.name == "pwrite64" {
		at = c.number(3)
	} else if o := d.fds[fd]; o != nil && o.path == p {
		at = o.at
		o.at += c.result
	} else {
		return false, fmt.Errorf("%s was written at an unknown offset", p)
	}
	n.changes = append(n.changes, change{at: at, data: data, seed: seed})
	return len(data) > 0, nil
}

// ofFile handles the other calls on an open file or directory.
func (d *disk) ofFile(c call) (changed bool, err error) {
	_, full := c.descriptor(0)
	p, ours := d.inside(full)
	if !ours || strings.HasSuffix(full, deleted) || c.name == "sync_file_range" {
		return false, nil // sync_file_range starts writing but guarantees nothing
	}
	n := d.find(p)
	if n == nil {
		return false, fmt.Errorf("%s of %s, which was never created", c.name, p)
	}
	switch c.name {
	case "ftruncate":
		n.changes = append(n.changes, change{at: c.number(1)})
	case "fsetxattr":
		value, err := c.bytes(2)
		if err != nil {
			return false, err
		}
		n.changes = append(n.changes, change{attr: string(value)})
	default:
		n.sync()
	}
	return true, nil
}

// ofName handles the calls that change a directory.
func (d *disk) ofName(c call) (changed bool, err error) {
	full, err := c.path(0)
	if err != nil {
		return false, err
	}
	p, ours := d.inside(full)
	if !ours {
		return false, nil
	}
	dir, err := d.dirOf(p)
	if err != nil {
		return false, err
	}
	name := path.Base(p)
	switch c.name {
	case "mkdirat":
		dir.entries = append(dir.entries, entry{added: name, node: d.add(true, p)})
	case "unlinkat":
		dir.entries = append(dir.entries, entry{removed: name})
	default:
		to, err := c.path(2)
		if err != nil {
			return false, err
		}
		if path.Dir(path.Clean(to)) != path.Dir(path.Clean(full)) {
			return false, fmt.Errorf("the model does not support renaming %s into another directory", p)
		}
		dir.entries = append(dir.entries, entry{removed: name, added: path.Base(to), node: d.find(p)})
	}
	return true, nil
}
