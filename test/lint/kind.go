package main

import (
	"go/ast"
	"go/token"
)

// kind is what is known of a type. Its zero value is one without fields and methods.
type kind struct {
	fields, methods []string // its own
	embeds          []string // the keys of types of ours
}

// declare takes in what a declaration says.
func (k *kind) declare(s *ast.TypeSpec, in scope) {
	switch typ := s.Type.(type) {
	case *ast.StructType:
		k.fields = k.list(typ.Fields, in, true)
	case *ast.InterfaceType:
		k.methods = append(k.methods, k.list(typ.Methods, in, false)...)
	}
}

// list returns the names in a list, and notes what is embedded. A struct has a field for
// that.
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

// size is what the limits are about.
type size struct {
	fields, methods, exported int
}

// size counts what a reader of a type has to hold: what it declares, and what it has from
// the types of ours that it embeds, which may embed others. A name counts once.
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

// members adds what a type has. The ones in seen were added before.
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
