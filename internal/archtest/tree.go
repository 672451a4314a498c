package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tree is the parsed source of the module.
type tree struct {
	files fs.FS
	fset  *token.FileSet
	pkgs  []*pkg // by folder
	dirs  map[string]*pkg
}

// pkg is the Go files of one folder, those of its tests included, whatever build tags they carry.
type pkg struct {
	dir   string // slash separated, from the root of the module; "." is the root itself
	files []*file
}

type file struct {
	name      string // with its folder
	test      bool
	generated bool
	lines     int
	ast       *ast.File
	imports   []imported
}

// imported is one import of a file.
type imported struct {
	path string
	name string // by which the file speaks of it: "_" and "." as written
	pos  token.Pos
}

// load parses all Go files of the module whose root is files. It leaves out what the go command leaves out: folders
// named testdata or beginning with "." or "_", and other modules. Folders of JavaScript packages are left out too.
func load(files fs.FS) (*tree, error) {
	t := &tree{files: files, fset: token.NewFileSet(), dirs: map[string]*pkg{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		hidden := name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_"))
		if entry.IsDir() {
			if hidden || base == "testdata" || base == "node_modules" || base == "vendor" {
				return fs.SkipDir
			}
			if _, err := fs.Stat(files, path.Join(name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || path.Ext(name) != ".go" {
			return nil
		}
		return t.add(name)
	})
	if err != nil {
		return nil, fmt.Errorf("load the source: %w", err)
	}
	slices.SortFunc(t.pkgs, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return t, nil
}

func (t *tree) add(name string) error {
	src, err := fs.ReadFile(t.files, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	f := &file{
		name:      name,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(parsed),
		lines:     bytes.Count(src, []byte("\n")),
		ast:       parsed,
	}
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		local := defaultName(p)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		f.imports = append(f.imports, imported{path: p, name: local, pos: spec.Pos()})
	}
	dir := path.Dir(name)
	in := t.dirs[dir]
	if in == nil {
		in = &pkg{dir: dir}
		t.dirs[dir] = in
		t.pkgs = append(t.pkgs, in)
	}
	in.files = append(in.files, f)
	return nil
}

var versionElement = regexp.MustCompile(`^v[0-9]+$`)

// defaultName is the name that the package at p most likely has: the last element of the path that is no version.
func defaultName(p string) string {
	base := path.Base(p)
	if versionElement.MatchString(base) && strings.Contains(p, "/") {
		base = path.Base(path.Dir(p))
	}
	return base
}

// where is the place of pos as file:line.
func (t *tree) where(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// program reports whether p has a file that is no test.
func (p *pkg) program() bool {
	return slices.ContainsFunc(p.files, func(f *file) bool { return !f.test })
}

// ours is the folder within the module that an import names, if it names one.
func ours(importPath string) (dir string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// uses calls yield for every mention pkg.Name in f of a package that f imports. pointer says that the mention is the
// type of a pointer, as in *http.Client.
func (f *file) uses(yield func(importPath, name string, pointer bool, pos token.Pos)) {
	names := map[string]string{}
	for _, i := range f.imports {
		names[i.name] = i.path
	}
	pointed := map[ast.Expr]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			pointed[n.X] = true
		case *ast.SelectorExpr:
			// An identifier with an object is a variable of the file that hides the package.
			if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil && names[id.Name] != "" {
				yield(names[id.Name], n.Sel.Name, pointed[n], n.Pos())
			}
		}
		return true
	})
}

// matches reports whether dir is named by pattern: a folder, a folder with * for one element, or x/** for x and all
// below it.
func matches(pattern, dir string) bool {
	if root, ok := strings.CutSuffix(pattern, "/**"); ok {
		return dir == root || strings.HasPrefix(dir, root+"/")
	}
	ok, err := path.Match(pattern, dir)
	return ok && err == nil
}

func matchesAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, dir) })
}
