package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// module is the beginning of the import paths of all our own packages.
const module = "github.com/ullage/ullage/"

// tree is what was found in the directories.
type tree struct {
	long  []string         // functions over the limit
	types map[string]*kind // by directory and name: "internal/ship/tail.Source"
}

// visit is a [fs.WalkDirFunc]. Directories named testdata are left out.
func (t *tree) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() && d.Name() == "testdata" {
		return filepath.SkipDir
	}
	if d.IsDir() || !strings.HasSuffix(path, ".go") {
		return nil
	}
	return t.file(filepath.ToSlash(path), nil)
}

// file reads one file, from src if that is not nil.
func (t *tree) file(name string, src any) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	in := scope{dir: path.Dir(name), imports: map[string]string{}}
	for _, spec := range parsed.Imports {
		in.add(spec)
	}
	for _, decl := range parsed.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			t.function(name, set, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && !s.Assign.IsValid() { // an alias is not a type of its own
					t.at(in.key(s.Name)).declare(s, in)
				}
			}
		}
	}
	return nil
}

func (t *tree) function(name string, set *token.FileSet, f *ast.FuncDecl) {
	begin, end := set.Position(f.Pos()), set.Position(f.End())
	if lines := end.Line - begin.Line + 1; lines > maxLines {
		t.long = append(t.long, fmt.Sprintf("%s:%d: %s has %d lines, at most %d are allowed", name, begin.Line, f.Name.Name, lines, maxLines))
	}
	if f.Recv != nil {
		of := t.at(scope{dir: path.Dir(name)}.key(f.Recv.List[0].Type))
		of.methods = append(of.methods, f.Name.Name)
	}
}

func (t *tree) at(key string) *kind {
	if t.types[key] == nil {
		t.types[key] = &kind{}
	}
	return t.types[key]
}

// scope resolves the names of types in a file.
type scope struct {
	dir     string
	imports map[string]string // our own directories, by the names that the file uses
}

// add adds an import. Unless the import gives another name, our own package has the name of its directory.
func (s scope) add(spec *ast.ImportSpec) {
	name, err := strconv.Unquote(spec.Path.Value)
	dir, ours := strings.CutPrefix(name, module)
	if err != nil || !ours {
		return
	}
	if as := path.Base(dir); spec.Name == nil {
		s.imports[as] = dir
	} else {
		s.imports[spec.Name.Name] = dir
	}
}

// key names a type as [tree.types] does: T for *T and for T[P]. It is empty for types without a name and for types
// that are not our own.
func (s scope) key(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return s.key(e.X)
	case *ast.ParenExpr:
		return s.key(e.X)
	case *ast.IndexExpr:
		return s.key(e.X)
	case *ast.IndexListExpr:
		return s.key(e.X)
	case *ast.Ident:
		return s.dir + "." + e.Name
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && s.imports[of.Name] != "" {
			return s.imports[of.Name] + "." + e.Sel.Name
		}
	}
	return ""
}
