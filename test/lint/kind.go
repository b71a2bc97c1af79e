package main

import (
	"go/ast"
	"go/token"
)

// kind describes a type. Its zero value has no fields and no methods.
type kind struct {
	fields, methods []string // its own
	embeds          []string // the keys of our own types
}

// declare adds a declaration.
func (k *kind) declare(s *ast.TypeSpec, in scope) {
	switch typ := s.Type.(type) {
	case *ast.StructType:
		k.fields = k.list(typ.Fields, in, true)
	case *ast.InterfaceType:
		k.methods = append(k.methods, k.list(typ.Methods, in, false)...)
	}
}

// list returns the names in a list, and records embedded types. With embeddedToo, an embedded type is a field too.
func (k *kind) list(fields *ast.FieldList, in scope, embeddedToo bool) (named []string) {
	for _, f := range fields.List {
		for _, name := range f.Names {
			named = append(named, name.Name)
		}
		if len(f.Names) > 0 {
			continue
		}
		if key := in.key(f.Type); key != "" {
			k.embeds = append(k.embeds, key)
		}
		if embeddedToo {
			named = append(named, lastName(f.Type))
		}
	}
	return named
}

// lastName returns the name of the field for an embedded type: T for *p.T[P].
func lastName(e ast.Expr) (name string) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			name = lastName(n.X)
			return false
		case *ast.IndexListExpr:
			name = lastName(n.X)
			return false
		case *ast.Ident:
			name = n.Name
		}
		return true
	})
	return name
}

// size has the numbers to which the limits apply.
type size struct {
	fields, methods, exported int
}

// size counts what a reader of a type must remember: what the type declares, and what it gets from our own types that
// it embeds, at any depth. A name counts once.
func (t *tree) size(key string) size {
	fields, methods := names{}, names{}
	t.members(key, fields, methods, names{})
	is := size{fields: len(fields), methods: len(methods)}
	for name := range methods {
		if token.IsExported(name) {
			is.exported++
		}
	}
	return is
}

// members adds the members of a type. The members of the types in seen were added before.
func (t *tree) members(key string, fields, methods, seen names) {
	k := t.types[key]
	if k == nil || seen[key] {
		return
	}
	seen[key] = true
	for _, name := range k.fields {
		fields[name] = true
	}
	for _, name := range k.methods {
		methods[name] = true
	}
	for _, embedded := range k.embeds {
		t.members(embedded, fields, methods, seen)
	}
}
