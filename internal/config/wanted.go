package config

import (
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// bounds are the tags min and max.
func (f *field) bounds() (lo, hi float64, hasLo, hasHi bool) {
	if s, ok := f.tag.Lookup("min"); ok {
		lo, hasLo = mustFloat(s), true
	}
	if s, ok := f.tag.Lookup("max"); ok {
		hi, hasHi = mustFloat(s), true
	}
	return lo, hi, hasLo, hasHi
}

func mustFloat(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("config: a tag min or max is no number: " + s)
	}
	return x
}

// wanted says in a few words what a field takes.
func wanted(t reflect.Type, f *field) string {
	if allowed, ok := f.enum(); ok {
		list := strings.Join(allowed, ", ")
		if allowed[0] == "" {
			list = "nothing" + list
		}
		return "one of " + list
	}
	switch shapeOf(t) {
	case shapeDuration:
		if f.is("positive") {
			return "a duration above zero such as 30s or 2m"
		}
		return "a duration such as 30s or 2m"
	case shapeBool:
		return "true or false"
	case shapeInt:
		return "a whole number" + f.within()
	case shapeFloat:
		return "a number" + f.within()
	case shapeList:
		return "a list"
	case shapeMap, shapeStruct:
		return "a mapping"
	}
	return "text"
}

func (f *field) within() string {
	lo, hi, hasLo, hasHi := f.bounds()
	switch {
	case hasLo && hasHi:
		return fmt.Sprintf(" from %v to %v", lo, hi)
	case hasLo:
		return fmt.Sprintf(" of at least %v", lo)
	}
	return ""
}

// describe says in a few words what stands in the file, without giving away
// the value of a secret.
func describe(n *yaml.Node, f *field) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	kind := "text"
	switch n.ShortTag() {
	case "!!int", "!!float":
		kind = "the number"
	case "!!bool", "!!null":
		kind = ""
	case "!!str", "!!timestamp", mergeTag:
	default:
		return "a value tagged " + n.Tag
	}
	if f != nil && f.is("secret") {
		return strings.TrimSpace("a secret " + kind)
	}
	value := n.Value
	if r := []rune(value); len(r) > 40 {
		value = string(r[:40]) + "…"
	}
	if kind == "text" {
		return strconv.Quote(value)
	}
	return strings.TrimSpace(kind + " " + value)
}

// checkFormat gives what was expected when text does not have the format. An
// empty text and a reference to a secret pass.
func checkFormat(format, text string) string {
	if format == "" || text == "" {
		return ""
	}
	if _, ok := SecretName(text); ok {
		return ""
	}
	switch format {
	case "url":
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return "an address that begins with http:// or https://"
		}
	case "hostport":
		_, port, err := net.SplitHostPort(text)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
			return "an address and port such as 127.0.0.1:18800"
		}
	default:
		panic("config: unknown format " + format)
	}
	return ""
}
