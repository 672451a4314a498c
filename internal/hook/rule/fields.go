package rule

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/goclaw/goclaw/internal/lib/nearest"
)

// fields is a check of conditions: of caller and of an entry of touches nothing
// is asked that they never have. What the arguments of a call hold is up to the
// tool.
type fields struct{}

var (
	callerFields = []string{"human", "id", "role"}
	touchFields  = []string{"name", "write"}
)

// Name implements [cel.ASTValidator].
func (fields) Name() string { return "goclaw.fields" }

// Validate implements [cel.ASTValidator].
func (fields) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.AllMatcher()) {
		of, field, ok := selected(e)
		if !ok {
			continue
		}
		what, known := fixed(e, of)
		if len(known) == 0 || slices.Contains(known, field) {
			continue
		}
		words := what + " has no field " + field + "; it has " + strings.Join(known, ", ")
		if near, ok := nearest.Name(field, known); ok {
			words = what + " has no field " + field + ": did you mean " + near + "?"
		}
		issues.ReportErrorAtID(e.ID(), "%s", words)
	}
}

// selected is what e takes a field of, of.field or of["field"].
func selected(e ast.Expr) (of ast.Expr, field string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || len(call.Args()) != 2 {
			return nil, "", false
		}
		field, ok = literal(call.Args()[1])
		return call.Args()[0], field, ok
	}
	return nil, "", false
}

// fixed are the fields of an expression within e that always has the same ones.
func fixed(e ast.NavigableExpr, of ast.Expr) (what string, known []string) {
	if of.Kind() == ast.CallKind {
		call := of.AsCall()
		if call.FunctionName() == operators.Index && isIdent(call.Args()[0], "touches") && !bound(e, "touches") {
			return "an entry of touches", touchFields
		}
		return "", nil
	}
	if of.Kind() != ast.IdentKind {
		return "", nil
	}
	name := of.AsIdent()
	for up, ok := e.Parent(); ok; up, ok = up.Parent() {
		if up.Kind() != ast.ComprehensionKind || up.AsComprehension().IterVar() != name {
			continue
		}
		if isIdent(up.AsComprehension().IterRange(), "touches") && !bound(up, "touches") {
			return "an entry of touches", touchFields
		}
		return "", nil
	}
	if name == "caller" {
		return name, callerFields
	}
	return "", nil
}

// bound reports whether a loop around e has a variable of the name.
func bound(e ast.NavigableExpr, name string) bool {
	for up, ok := e.Parent(); ok; up, ok = up.Parent() {
		if up.Kind() == ast.ComprehensionKind && up.AsComprehension().IterVar() == name {
			return true
		}
	}
	return false
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == name }
