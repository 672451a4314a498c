package archtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// dependencyList is where every module that the code imports has its line.
const dependencyList = "docs/dependencies.md"

// goMod is what the rules need to know of a go.mod file.
type goMod struct {
	versions map[string]string // of the required modules
	direct   []string          // those that the module itself imports
	tools    []string          // packages of tool directives
}

// parseGoMod reads the require and tool directives of a go.mod file as the go command formats it.
func parseGoMod(text []byte) goMod {
	m := goMod{versions: map[string]string{}}
	block := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line, comment, _ := strings.Cut(lines.Text(), "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case block == "" && len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		case words[0] == ")":
			block = ""
			continue
		case block != "":
			words = append([]string{block}, words...)
		}
		switch {
		case words[0] == "require" && len(words) == 3:
			m.versions[words[1]] = words[2]
			if !strings.HasPrefix(strings.TrimSpace(comment), "indirect") {
				m.direct = append(m.direct, words[1])
			}
		case words[0] == "tool" && len(words) == 2:
			m.tools = append(m.tools, words[1])
		}
	}
	return m
}

// provider is the required module that holds the package at importPath.
func (m goMod) provider(importPath string) (string, bool) {
	best := ""
	for required := range m.versions {
		if (importPath == required || strings.HasPrefix(importPath, required+"/")) && len(required) > len(best) {
			best = required
		}
	}
	return best, best != ""
}

var dependencyRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// checkDependencies holds docs/dependencies.md against what the code imports and the tools that are pinned.
func checkDependencies(t *tree, _ *policy, report report) {
	main, err := fs.ReadFile(t.files, "go.mod")
	if err != nil {
		report("go.mod", "%v", err)
		return
	}
	mod := parseGoMod(main)
	used := map[string]string{} // module to a place that needs it
	for _, in := range t.pkgs {
		for _, f := range in.files {
			for _, i := range f.imports {
				if required, ok := mod.provider(i.path); ok && used[required] == "" {
					used[required] = t.where(i.pos)
				}
			}
		}
	}
	for _, required := range mod.direct {
		if used[required] == "" {
			report("go.mod", "requires %s, which no file imports: run go mod tidy", required)
		}
	}
	// The tools have a module of their own, which a tree need not have.
	if text, err := fs.ReadFile(t.files, "tools/go.mod"); err == nil {
		tools := parseGoMod(text)
		for _, tool := range tools.tools {
			if required, ok := tools.provider(tool); ok {
				used[required] = "tools/go.mod"
			}
		}
	}
	if len(used) == 0 {
		return
	}
	text, err := fs.ReadFile(t.files, dependencyList)
	if err != nil {
		report(dependencyList, "%v", err)
		return
	}
	// A go.mod that calls nothing direct was never tidied; a row may then stand for what is required and not imported yet.
	tidied := len(mod.direct) > 0
	var rows []string
	for _, match := range dependencyRow.FindAllSubmatch(text, -1) {
		rows = append(rows, string(match[1]))
	}
	for required, place := range used {
		if !slices.Contains(rows, required) {
			report(place, "needs %s, which has no row in %s: add one with for what, why this one, what to know", required, dependencyList)
		}
	}
	for n, row := range rows {
		switch {
		case slices.Contains(rows[:n], row):
			report(dependencyList, "has two rows for %s", row)
		case used[row] == "" && (tidied || mod.versions[row] == ""):
			report(dependencyList, "has a row for %s, which nothing imports: remove it", row)
		}
	}
}

// sameLibc says what is wrong when our go.mod names another version of the C library in Go than the SQLite we require
// was made with: the two are generated together and break in odd ways apart.
func sameLibc(ours, sqlites goMod) error {
	const libc = "modernc.org/libc"
	have, want := ours.versions[libc], sqlites.versions[libc]
	if have == "" || want == "" || have != want {
		return fmt.Errorf("go.mod has %s %q, and modernc.org/sqlite %s was made with %q", libc, have, ours.versions["modernc.org/sqlite"], want)
	}
	return nil
}
