package archtest

import (
	"go/ast"
	"path"
	"strings"
)

// limits are what a thing may grow to before it needs a line of reason.
type limits struct {
	exported int // names at the top of a package that others see
	function int // lines, from func to the last brace
	file     int // lines
}

const smaller = "make it smaller, or give %q a line of reason under large in internal/archtest/policy.go"

// checkSize reports what has grown past a limit without a reason, and reasons that nothing needs any more. Functions
// of tests may be long, since a table of cases is data; generated files are read by nobody.
func checkSize(t *tree, p *policy, report report) {
	needed := map[string]bool{}
	exceeds := func(key, where, format string, args ...any) {
		needed[key] = true
		if p.large[key] == "" {
			report(where, format+": "+smaller, append(args, key)...)
		}
	}
	for _, in := range t.pkgs {
		if n := exported(in); n > p.limits.exported && !support(in.dir) {
			exceeds(in.dir, in.dir, "exports %d names, over %d", n, p.limits.exported)
		}
		for _, f := range in.files {
			if f.generated {
				continue
			}
			if f.lines > p.limits.file {
				exceeds(f.name, f.name, "has %d lines, over %d", f.lines, p.limits.file)
			}
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || f.test {
					continue
				}
				n := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
				if n > p.limits.function {
					name := functionName(fn)
					exceeds(in.dir+"."+name, t.where(fn.Pos()), "%s has %d lines, over %d", name, n, p.limits.function)
				}
			}
		}
	}
	for key := range p.large {
		if !needed[key] && (t.dirs[room(key)] != nil || !p.planned(room(key))) {
			report(key, "has a reason under large but needs none: remove its line")
		}
	}
}

// exported counts the names at the top of in that other packages see.
func exported(in *pkg) int {
	count := 0
	for _, f := range in.files {
		if f.test || f.generated {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					count++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							count++
						}
					case *ast.ValueSpec:
						for _, name := range s.Names {
							if name.IsExported() {
								count++
							}
						}
					}
				}
			}
		}
	}
	return count
}

// functionName is F for a function and T.M for a method.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	kind := fn.Recv.List[0].Type
	for {
		switch k := kind.(type) {
		case *ast.StarExpr:
			kind = k.X
		case *ast.IndexExpr:
			kind = k.X
		case *ast.IndexListExpr:
			kind = k.X
		case *ast.Ident:
			return k.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// room is the folder that a key of policy.large speaks of.
func room(key string) string {
	if strings.HasSuffix(key, ".go") {
		return path.Dir(key)
	}
	parent, base := path.Split(key)
	base, _, _ = strings.Cut(base, ".")
	return path.Clean(parent + base)
}
