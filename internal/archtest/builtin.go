package archtest

import (
	"path"
	"slices"
)

// builtin is the room that lists what is compiled in.
const builtin = "internal/gateway/builtin"

// listed are the folders whose packages that list must name, with the word for one of them.
var listed = []struct{ folder, noun string }{
	{"internal/tools", "family"},
	{"internal/provider", "provider"},
	{"internal/channel", "channel"},
	{"internal/store", "store"},
}

// checkBuiltin asks that every family, provider, channel and store is compiled in. It has nothing to hold before there
// is a gateway.
func checkBuiltin(t *tree, _ *policy, report report) {
	list := t.dirs[builtin]
	if list == nil {
		if t.dirs["internal/gateway"] != nil {
			report(builtin, "there is a gateway but no list of what is compiled in")
		}
		return
	}
	for _, in := range t.pkgs {
		for _, l := range listed {
			if path.Dir(in.dir) != l.folder || support(in.dir) || !in.program() || imports(list, in.dir) {
				continue
			}
			report(in.dir, "the %s is not compiled in: add the import %q to %s and %s to its list", l.noun,
				module+"/"+in.dir, builtin, path.Base(in.dir))
		}
	}
}

// imports reports whether the program files of in import dir by a name, which the compiler then holds to be used.
func imports(in *pkg, dir string) bool {
	return slices.ContainsFunc(in.files, func(f *file) bool {
		return !f.test && slices.ContainsFunc(f.imports, func(i imported) bool {
			return i.path == module+"/"+dir && i.name != "_"
		})
	})
}
