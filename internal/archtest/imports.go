package archtest

import (
	"go/token"
	"slices"
	"strings"
)

// edges calls yield for every import of one package of ours by another.
func (t *tree) edges(yield func(from *pkg, f *file, i imported, to string)) {
	for _, from := range t.pkgs {
		for _, f := range from.files {
			for _, i := range f.imports {
				if to, ok := ours(i.path); ok && to != from.dir {
					yield(from, f, i, to)
				}
			}
		}
	}
}

// checkOrder holds the order between packages. Tests may look up: a test of a lower room can need what is built on it.
func checkOrder(t *tree, p *policy, report report) {
	for _, in := range t.pkgs {
		if _, ok := p.line(in.dir); !ok {
			report(in.dir, "the package has no line: add it to order in internal/archtest/policy.go, above all that it imports")
		}
	}
	t.edges(func(from *pkg, f *file, i imported, to string) {
		if f.test || to == subject(from.dir) {
			return
		}
		upper, known := p.line(from.dir)
		lower, ok := p.line(to)
		if !ok {
			report(t.where(i.pos), "imports %s, which has no line in the order", to)
			return
		}
		if known && lower <= upper {
			how := "above it"
			if lower == upper {
				how = "beside it"
			}
			report(t.where(i.pos), "%s imports %s, which stands %s in the order", from.dir, to, how)
		}
		for _, room := range p.peers {
			a := slices.IndexFunc(room, func(pattern string) bool { return matches(pattern, from.dir) })
			b := slices.IndexFunc(room, func(pattern string) bool { return matches(pattern, to) })
			if a >= 0 && b >= 0 && a != b {
				report(t.where(i.pos), "%s imports %s; %s and %s know nothing of each other", from.dir, to, room[a], room[b])
			}
		}
	})
}

// checkClosed holds the packages that import nothing of ours but what is listed.
func checkClosed(t *tree, p *policy, report report) {
	t.edges(func(from *pkg, f *file, i imported, to string) {
		if f.test || to == subject(from.dir) {
			return
		}
		for _, c := range p.closed {
			if matchesAny(c.dirs, subject(from.dir)) && !matchesAny(c.only, to) {
				allowed := "nothing of ours"
				if len(c.only) > 0 {
					allowed = "only " + strings.Join(c.only, ", ")
				}
				report(t.where(i.pos), "%s imports %s, but may import %s: %s", from.dir, to, allowed, c.reason)
			}
		}
	})
}

// checkImporters holds who may import the packages that are put together in one place.
func checkImporters(t *tree, p *policy, report report) {
	t.edges(func(from *pkg, f *file, i imported, to string) {
		// A suite and its subject are one thing; the suite's users are checkSupport's matter.
		if support(to) || subject(from.dir) == to {
			return
		}
		for _, rule := range p.importers {
			if !matchesAny(rule.dirs, to) {
				continue
			}
			if !matchesAny(rule.by, from.dir) && (rule.tests || !f.test && !support(from.dir)) {
				report(t.where(i.pos), "%s imports %s, which only %s may: %s", from.dir, to, strings.Join(rule.by, ", "), rule.reason)
			}
			return
		}
	})
}

// checkSupport keeps test support out of the program. Scripts may use it: they measure, and are never shipped.
func checkSupport(t *tree, _ *policy, report report) {
	t.edges(func(from *pkg, f *file, i imported, to string) {
		if support(to) && !f.test && !support(from.dir) && !matches("scripts/**", from.dir) {
			report(t.where(i.pos), "%s imports %s outside a test", from.dir, to)
		}
	})
}

// checkConfined holds what only some rooms may use: whole packages, or names of packages.
func checkConfined(t *tree, p *policy, report report) {
	for _, in := range t.pkgs {
		for _, f := range in.files {
			for _, c := range p.confined {
				if matchesAny(c.only, in.dir) || !c.tests && (f.test || support(in.dir)) {
					continue
				}
				c.check(t, f, report)
			}
		}
	}
}

func (c confined) check(t *tree, f *file, report report) {
	may := "nothing may"
	if len(c.only) > 0 {
		may = "only " + strings.Join(c.only, ", ") + " may"
	}
	for _, i := range f.imports {
		if !c.covers(i.path) {
			continue
		}
		if len(c.names) == 0 {
			report(t.where(i.pos), "imports %s, which %s: %s", i.path, may, c.reason)
		}
		if i.name == "." {
			report(t.where(i.pos), "imports %s without a name, so that its uses can't be seen", i.path)
		}
	}
	if len(c.names) == 0 {
		return
	}
	f.uses(func(importPath, name string, pointer bool, pos token.Pos) {
		if !c.covers(importPath) || !slices.Contains(c.names, name) || pointer && slices.Contains(c.types, name) {
			return
		}
		report(t.where(pos), "uses %s.%s, which %s: %s", defaultName(importPath), name, may, c.reason)
	})
}

// covers reports whether c speaks of the package at importPath.
func (c confined) covers(importPath string) bool {
	if root, ok := strings.CutSuffix(c.path, "/..."); ok {
		return importPath == root || strings.HasPrefix(importPath, root+"/")
	}
	return importPath == c.path
}
