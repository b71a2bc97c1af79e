package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// arrows has the names that one file of a package uses and another file declares, by the using file and then by the
// declaring file. A name is anything that is declared outside of a function, including methods and fields: a reader of
// a call must know the file that declares the method.
type arrows map[string]map[string]names

type names map[string]bool

func (a arrows) add(from, to, name string) {
	for _, file := range []string{from, to} {
		if a[file] == nil {
			a[file] = map[string]names{}
		}
	}
	if a[from][to] == nil {
		a[from][to] = names{}
	}
	a[from][to][name] = true
}

// listed is the go command's description of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string // without tests
	DepOnly                 bool     // only used by a package that was requested
	Error                   *struct{ Err string }
}

// up returns the arrows that run back up in the given order of the files, each with its names.
func (a arrows) up(order []string) (up []string) {
	for i, from := range order {
		for _, to := range order[:i] {
			if used := a[from][to]; used != nil {
				up = append(up, fmt.Sprintf("%s → %s: %s", from, to, strings.Join(slices.Sorted(maps.Keys(used)), ", ")))
			}
		}
	}
	return up
}

// packages returns the arrows in each package below the directories, by the package's directory. Tests have no
// arrows: they may use what they test. Only packages of the main module are read, and of these only the files for
// Linux.
func packages(dirs []string) (map[string]arrows, error) {
	all, err := list(dirs)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	found := map[string]arrows{}
	for _, p := range all {
		if p.DepOnly {
			continue
		}
		dir, err := filepath.Rel(here, p.Dir)
		if err != nil {
			return nil, err
		}
		files := make(map[string]any, len(p.GoFiles))
		for _, name := range p.GoFiles {
			files[filepath.Join(dir, name)] = nil
		}
		if found[filepath.ToSlash(dir)], err = within(set, imports, p.ImportPath, files); err != nil {
			return nil, fmt.Errorf("read %s: %w", p.ImportPath, err)
		}
	}
	return found, nil
}

// list requests the packages below the directories and everything that they import. The exports of other packages are
// read from the compiler's cache.
func list(dirs []string) ([]listed, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Error"}
	for _, dir := range dirs {
		args = append(args, "./"+filepath.ToSlash(filepath.Clean(dir))+"/...")
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux") // on any developer's system: the sidecar is built only for Linux
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("decode the output of go list: %w", err)
		case p.Error != nil:
			return nil, fmt.Errorf("go list %s: %s", p.ImportPath, p.Error.Err)
		}
		all = append(all, p)
	}
}

// within returns the arrows of one package. files maps the path of each file to its source; if the source is nil, it is
// read from the path.
func within(set *token.FileSet, imports types.Importer, path string, files map[string]any) (arrows, error) {
	var parsed []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := parser.ParseFile(set, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: imports}).Check(path, set, parsed, info)
	if err != nil {
		return nil, err
	}
	fileOf := func(at token.Pos) string { return filepath.Base(set.Position(at).Filename) }
	found := arrows{}
	for id, used := range info.Uses {
		if used.Pkg() == pkg && shared(used) {
			if from, to := fileOf(id.Pos()), fileOf(used.Pos()); from != to {
				found.add(from, to, id.Name)
			}
		}
	}
	return found, nil
}

// shared reports whether an object of a package can be named in all of its files.
func shared(o types.Object) bool {
	switch o := o.(type) {
	case *types.PkgName:
		return false
	case *types.Var:
		if o.IsField() {
			return true
		}
	case *types.Func:
		return true // a method has no scope
	}
	return o.Parent() == o.Pkg().Scope()
}
