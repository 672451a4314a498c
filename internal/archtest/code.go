package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

var sentenceEnd = regexp.MustCompile(`[.!?][)"'”’]*(\s|$)`)

// fewSentences is the least that the comment of a package has: what it owns, how it lives, where to start reading. A
// command and a suite have their life from who runs them.
func fewSentences(in *pkg, name string) int {
	switch {
	case name == "main":
		return 1
	case support(in.dir):
		return 2
	}
	return 3
}

// checkComment asks for one package comment of some sentences. What the sentences say is for readers to judge.
func checkComment(t *tree, _ *policy, report report) {
	for _, in := range t.pkgs {
		var commented []*file
		for _, f := range in.files {
			if !f.test && f.ast.Doc != nil {
				commented = append(commented, f)
			}
		}
		switch {
		case !in.program():
		case len(commented) == 0:
			report(in.dir, "has no package comment: say what it owns, its life (who closes it, who waits) and where to start reading")
		case len(commented) > 1:
			for _, f := range commented {
				report(f.name, "has one of %d package comments; there is one per package", len(commented))
			}
		default:
			f := commented[0]
			text := strings.TrimSpace(f.ast.Doc.Text())
			prefix := "Package " + f.ast.Name.Name + " "
			if f.ast.Name.Name == "main" {
				prefix = "Command "
			}
			if !strings.HasPrefix(text, prefix) {
				report(f.name, "the package comment does not begin with %q", prefix)
			}
			if n := len(sentenceEnd.FindAllString(text, -1)); n < fewSentences(in, f.ast.Name.Name) {
				report(f.name, "the package comment has %d sentences; say what it owns, its life and where to start reading", n)
			}
		}
	}
}

// starts calls yield for everything in f that starts a goroutine: go statements, the standard library's timers and
// watchers that call back, and methods named Go as of errgroup.Group and sync.WaitGroup.
func (t *tree) starts(f *file, yield func(pos token.Pos, what string)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			yield(n.Pos(), "a go statement")
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Go" || s.Sel.Name == "TryGo") {
				yield(n.Pos(), "a call of "+s.Sel.Name)
			}
		}
		return true
	})
	f.uses(func(importPath, name string, _ bool, pos token.Pos) {
		if name == "AfterFunc" && (importPath == "time" || importPath == "context") {
			yield(pos, importPath+".AfterFunc")
		}
	})
}

// checkGoroutines holds where goroutines start. Tests and what serves them may: goleak and the race detector watch them.
func checkGoroutines(t *tree, p *policy, report report) {
	for _, in := range t.pkgs {
		reason, listed := p.goroutines[in.dir]
		count := 0
		for _, f := range in.files {
			if f.test || support(in.dir) {
				continue
			}
			t.starts(f, func(pos token.Pos, what string) {
				count++
				if !listed {
					report(t.where(pos), "%s starts a goroutine here (%s): leave that to a package that waits for it, or list "+
						"the package under goroutines in internal/archtest/policy.go with who waits", in.dir, what)
				}
			})
		}
		if listed && count == 0 {
			report(in.dir, "is listed under goroutines (%q) but starts none: remove its line", reason)
		}
	}
	for dir := range p.goroutines {
		if t.dirs[dir] == nil && !p.planned(dir) {
			report(dir, "is listed under goroutines but there is no such package: remove its line")
		}
	}
}

// planned reports whether dir has a line of its own in the order, so that it may be spoken of before it is there.
func (p *policy) planned(dir string) bool {
	return slices.ContainsFunc(p.order, func(line []string) bool { return slices.Contains(line, dir) })
}

// raceList is where the gate reads which packages it races.
const raceList = "scripts/race-packages"

// checkRace holds the list of raced packages against the source. A package that is planned may stand there before it is
// written.
func checkRace(t *tree, p *policy, report report) {
	text, err := fs.ReadFile(t.files, raceList)
	if err != nil {
		report(raceList, "%v", err)
		return
	}
	listed := map[string]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		where := fmt.Sprintf("%s:%d", raceList, n+1)
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch {
		case len(words) < 3 || words[0] != "race" && words[0] != "skip":
			report(where, "want: race or skip, a package, a reason")
		case listed[words[1]]:
			report(where, "%s is listed twice", words[1])
		case t.dirs[words[1]] == nil && !p.planned(words[1]):
			report(where, "there is no package %s: remove the line", words[1])
		}
		if len(words) > 1 {
			listed[words[1]] = true
		}
	}
	for _, in := range t.pkgs {
		if what := t.concurrent(in); what != "" && !listed[in.dir] && !support(in.dir) {
			report(in.dir, "has %s: add \"race %s REASON\" to %s, or \"skip\" where racing it would find nothing", what, in.dir, raceList)
		}
	}
}

// concurrent says what makes in concurrent: goroutines it starts, or locks and atomics by which it says that others may
// call it from several. sync.Once and its kin alone don't count: they are right by construction.
func (t *tree) concurrent(in *pkg) (what string) {
	for _, f := range in.files {
		if f.test {
			continue
		}
		t.starts(f, func(_ token.Pos, start string) { what = start })
		f.uses(func(importPath, name string, _ bool, _ token.Pos) {
			switch {
			case importPath == "sync/atomic":
				what = "atomic." + name
			case importPath == "sync" && !strings.HasPrefix(name, "Once"):
				what = "sync." + name
			}
		})
	}
	return what
}

// checkInitializers refuses code that runs before main: init functions and variables without a name that are set by a
// call. A variable with a name may be set by a call (a compiled pattern); a conversion of a literal calls nothing.
func checkInitializers(t *tree, _ *policy, report report) {
	for _, in := range t.pkgs {
		for _, f := range in.files {
			for _, d := range f.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						report(t.where(d.Pos()), "has an init function; make it a function that is called, or a value")
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR && registers(v) {
							report(t.where(v.Pos()), "a variable without a name is set by a call that runs before main")
						}
					}
				}
			}
		}
	}
}

// registers reports whether v has no name and is set by a call, which is then made for what it does.
func registers(v *ast.ValueSpec) bool {
	return !slices.ContainsFunc(v.Names, func(id *ast.Ident) bool { return id.Name != "_" }) &&
		slices.ContainsFunc(v.Values, func(e ast.Expr) bool { return calls(e, v.Type != nil) })
}

// calls reports whether e calls a function. (*T)(nil) converts, and so does T(0) or T(nil) where a type is stated, which
// is how a type is held against an interface.
func calls(e ast.Expr, typed bool) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	if _, ok := c.Fun.(*ast.ParenExpr); ok {
		return false
	}
	if typed && len(c.Args) == 1 {
		switch arg := c.Args[0].(type) {
		case *ast.BasicLit:
			return arg.Kind != token.INT
		case *ast.Ident:
			return arg.Name != "nil"
		}
	}
	return true
}
