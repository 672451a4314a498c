package config

import (
	"bytes"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

func unsetIn(o Options, data []byte, key string) ([]byte, error) {
	out, err := takeOut(o, data, key)
	if err == nil {
		err = freshFaults(o, data, out)
	}
	return out, err
}

// takeOut is unsetIn without asking what the configuration makes of the result.
func takeOut(o Options, data []byte, key string) ([]byte, error) {
	bom, data := cutBOM(data)
	t, unknown := resolveKey(key)
	e, err := openEdit(o, data)
	if err != nil {
		return nil, err
	}
	if unknown != nil {
		var ok bool
		if t.path, ok = written(e.root, key); !ok {
			return nil, unknown
		}
	}
	rest, err := e.down(t.path)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return append(bom[:len(bom):len(bom)], data...), nil
	}
	p := e.prune(e.path)
	parent, err := openEdit(o, data)
	if err != nil {
		return nil, err
	}
	if _, err := parent.down(p[:len(p)-1]); err != nil {
		return nil, err
	}
	out, err := parent.remove(p[len(p)-1])
	if err != nil {
		return nil, err
	}
	if err := e.verify(o, data, out, func(root *yaml.Node) *yaml.Node { return without(root, p) }); err != nil {
		return nil, err
	}
	return append(bom[:len(bom):len(bom)], out...), nil
}

// written finds what a key means by what stands in the document, for one that
// the schema doesn't know: a fault that is there must be possible to take out.
func written(root *yaml.Node, key string) (path, bool) {
	segs, err := splitPath(key)
	if err != nil || len(segs) == 0 {
		return nil, false
	}
	var p path
	n, typ := root, reflect.TypeFor[Config]()
	for _, seg := range segs {
		if n == nil {
			return nil, false
		}
		s := step{kind: stepKey, name: seg.text}
		switch n.Kind {
		case yaml.MappingNode:
			i := ownKey(n, s.name)
			if i < 0 {
				return nil, false
			}
			n = n.Content[i+1]
		case yaml.SequenceNode:
			s = entryStep(seg)
			i := findEntry(n, s, idName(typ))
			if i < 0 || !seg.bracket {
				return nil, false
			}
			n = n.Content[i]
		default:
			return nil, false
		}
		p, typ = append(p, s), stepType(typ, s)
	}
	return p, true
}

// prune shortens a path while what it leads to is the only key of a block that
// holds no comment: an empty block would say nothing.
func (e *edit) prune(p path) path {
	for len(p) > 1 && p[len(p)-1].kind != stepEntry && p[len(p)-2].kind != stepEntry {
		up, ok := locate(e.root, p[:len(p)-1])
		if !ok || up.value.Kind != yaml.MappingNode || len(up.value.Content) != 2 || up.value.Style&yaml.FlowStyle != 0 {
			break
		}
		end, err := e.end(up.value)
		if err != nil || e.comments(e.start(up.key)+len(up.key.Value), e.start(up.value)) || e.comments(end, e.lineEnd(end)) {
			break
		}
		p = p[:len(p)-1]
	}
	return p
}

// comments reports whether a comment stands between two nodes.
func (e *edit) comments(from, to int) bool {
	return bytes.Contains(e.data[min(from, to):to], []byte("#"))
}

// remove takes a key or an entry out of the collection that is reached.
func (e *edit) remove(s step) ([]byte, error) {
	width, i := 2, 0
	if s.kind == stepEntry {
		width, i = 1, s.index
		if len(e.at.Content) == 1 {
			// An empty list is written out: an absent one may mean all.
			return e.replace(&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle})
		}
	} else {
		i = ownKey(e.at, s.name)
	}
	first, last := e.at.Content[i], e.at.Content[i+width-1]
	start := e.start(first)
	end, err := e.end(last)
	if err == nil && isImplicit(last) && width == 2 {
		end, err = e.valueStart(first)
	}
	if err != nil {
		return nil, err
	}
	if e.at.Style&yaml.FlowStyle != 0 {
		return e.removeFlow(i, width, start, end)
	}
	if s.kind == stepEntry {
		dash := bytes.LastIndexByte(e.data[:start], '-')
		if dash < 0 || len(bytes.TrimSpace(e.data[dash+1:start])) > 0 {
			return nil, errOdd
		}
		start = dash
	}
	if len(bytes.TrimSpace(e.data[e.lineStart(start):start])) == 0 {
		return e.splice(e.lineStart(start), e.lineEnd(end), ""), nil
	}
	// The first key of an entry, behind its dash: the next one moves up.
	if s.kind == stepEntry || i != 0 || len(e.at.Content) == width {
		return nil, errOdd
	}
	next := e.start(e.at.Content[width])
	if len(bytes.TrimSpace(e.data[end:next])) == 0 {
		return e.splice(start, next, ""), nil
	}
	return e.splice(start, end, ""), nil
}

// removeFlow takes the member from start to end out of a flow collection,
// together with one comma.
func (e *edit) removeFlow(i, width, start, end int) ([]byte, error) {
	from, to := start, end
	switch {
	case i+width < len(e.at.Content):
		to = e.start(e.at.Content[i+width])
	case i > 0:
		before := e.at.Content[i-1]
		var err error
		if from, err = e.end(before); isImplicit(before) && width == 2 {
			from, err = e.valueStart(e.at.Content[i-2])
		}
		if err != nil {
			return nil, err
		}
	}
	if e.comments(from, start) || e.comments(end, to) {
		return nil, errOdd
	}
	return e.splice(from, to, ""), nil
}

// without gives a document without what p leads to. A mapping that is left
// empty is a null, as it is where it is written in a block.
func without(root *yaml.Node, p path) *yaml.Node {
	parent, ok := locate(root, p[:len(p)-1])
	if !ok {
		return root
	}
	n := parent.value
	if s := p[len(p)-1]; s.kind == stepEntry {
		n.Content = slices.Delete(n.Content, s.index, s.index+1)
	} else if i := ownKey(n, s.name); i >= 0 {
		n.Content = slices.Delete(n.Content, i, i+2)
		if len(n.Content) == 0 && n.Style&yaml.FlowStyle == 0 {
			*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		}
	}
	return root
}
