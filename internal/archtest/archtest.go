// Package archtest holds the rules of how GoClaw is built: what may know what, where a goroutine may start, who may
// dial, how large a thing may grow. It owns the policy (policy.go), which has a line for every package, and the rules
// that read the source and compare.
//
// It is test support: nothing imports it and its test is what runs. It parses the files of the repository, starts no
// other program and keeps nothing, so it is quick enough to run first. It works on a tree of files rather than on the
// repository so that its own tests can show it small trees that break each rule: a rule that can't fail holds nothing.
//
// Start reading at [rules]; to add a package, add its line to the order in policy.go.
package archtest

import (
	"cmp"
	"fmt"
	"slices"
)

// fault is one place where the source breaks a rule.
type fault struct {
	Rule  string
	Where string // file:line, or a folder
	What  string // what is wrong, and the way out where it is not plain
}

func (f fault) String() string { return fmt.Sprintf("%s: %s: %s", f.Rule, f.Where, f.What) }

// report notes a fault of the rule that is being checked.
type report func(where, format string, args ...any)

// rule is one thing that holds for the whole tree.
type rule struct {
	name   string
	reason string
	check  func(*tree, *policy, report)
}

// rules lists all rules in the order in which they are checked.
var rules = []rule{
	{
		"order",
		"A newcomer follows arrows in one direction only: what comes later in the order never knows who uses it, so it " +
			"can be read, tested and moved alone.",
		checkOrder,
	},
	{
		"closed",
		"Vocabulary (llm, auth, tool, lib) and the loop stay small because they know almost nothing: a type that needs " +
			"more does not belong there.",
		checkClosed,
	},
	{
		"importers",
		"Parts are put together in one place. Who else imports a family, a vendor, a store or the configuration decides " +
			"for every build what is compiled in and where values come from.",
		checkImporters,
	},
	{
		"confined",
		"A thing that must be done with care (dialing, starting a program, reading the environment, minting authority, a " +
			"vendor's types, a database driver) is done in one room, where the care can be seen.",
		checkConfined,
	},
	{
		"support",
		"Fakes and conformance suites serve tests; a program that carries them can be made to use them.",
		checkSupport,
	},
	{
		"comment",
		"A package says what it owns, how it lives and where to start reading, once, or everyone finds out again.",
		checkComment,
	},
	{
		"goroutines",
		"Somebody waits for every goroutine. Where they start is a short list, so that who waits can be checked by reading.",
		checkGoroutines,
	},
	{
		"race",
		"The race detector is slow, so it runs on what is concurrent and on nothing else; the list of that must not be " +
			"shorter than the truth.",
		checkRace,
	},
	{
		"builtin",
		"A family, vendor, channel or store that no list names is compiled by nobody and tested by everybody.",
		checkBuiltin,
	},
	{
		"initializers",
		"Registration is an explicit list: what runs before main can't be ordered, skipped, timed or given settings.",
		checkInitializers,
	},
	{
		"size",
		"Large things are where understanding stops. Growing past the limit is a decision with a line of reason; a reason " +
			"that is no longer needed goes away.",
		checkSize,
	},
	{
		"dependencies",
		"A dependency is chosen, not drifted into: each has its line in docs/dependencies.md, and no line outlives its " +
			"module.",
		checkDependencies,
	},
}

// check holds t against every rule and returns the faults in the order of the rules, then by place.
func check(t *tree, p *policy) []fault {
	var faults []fault
	for _, r := range rules {
		faults = append(faults, r.faults(t, p)...)
	}
	return faults
}

// faults holds t against r alone.
func (r rule) faults(t *tree, p *policy) []fault {
	var found []fault
	r.check(t, p, func(where, format string, args ...any) {
		found = append(found, fault{r.name, where, fmt.Sprintf(format, args...)})
	})
	slices.SortFunc(found, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(found)
}
