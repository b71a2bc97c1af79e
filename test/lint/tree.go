package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// size is what the limits are about. Its zero value is a type without fields and
// methods.
type size struct {
	fields, methods, exported int
}

// tree is what was found in the directories.
type tree struct {
	long  []string         // functions over the limit
	types map[string]*size // by directory and name: "internal/ship/tail.Source"
}

// visit is a [fs.WalkDirFunc]. Directories named testdata are not ours to judge.
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
	return t.file(path, nil)
}

// file reads one file, from src if that is not nil.
func (t *tree) file(path string, src any) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			t.function(path, set, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					t.declared(path, s)
				}
			}
		}
	}
	return nil
}

func (t *tree) function(path string, set *token.FileSet, f *ast.FuncDecl) {
	begin, end := set.Position(f.Pos()), set.Position(f.End())
	if lines := end.Line - begin.Line + 1; lines > maxLines {
		t.long = append(t.long, fmt.Sprintf("%s:%d: %s has %d lines, at most %d are allowed", path, begin.Line, f.Name.Name, lines, maxLines))
	}
	if f.Recv == nil {
		return
	}
	of := t.size(path, receiver(f.Recv.List[0].Type))
	of.methods++
	if f.Name.IsExported() {
		of.exported++
	}
}

func (t *tree) declared(path string, s *ast.TypeSpec) {
	of := t.size(path, s.Name.Name)
	switch typ := s.Type.(type) {
	case *ast.StructType:
		of.fields += count(typ.Fields)
	case *ast.InterfaceType:
		for _, m := range typ.Methods.List {
			of.methods += len(m.Names)
			for _, name := range m.Names {
				if name.IsExported() {
					of.exported++
				}
			}
		}
	}
}

// count returns the number of fields. An embedded one has no name.
func count(fields *ast.FieldList) int {
	n := 0
	for _, f := range fields.List {
		n += max(len(f.Names), 1)
	}
	return n
}

func (t *tree) size(path, name string) *size {
	key := filepath.ToSlash(filepath.Dir(path)) + "." + name
	if t.types[key] == nil {
		t.types[key] = &size{}
	}
	return t.types[key]
}

// receiver returns the name of a method's type: T for *T and for T[P].
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
