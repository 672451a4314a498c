package openai

import (
	"bytes"
	"strings"

	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// call is one tool call of a reply.
type call struct {
	index   int64 // the server's; calls without one have none
	indexed bool
	chunk   int // the piece that began it
	id      string
	name    string
	args    wire.Text
	extra   []byte // what the server wants back with it
	end     closing
	next    *delta // names a call that goes by this one's index, if arguments follow
}

// delta is what one piece says of one call.
type delta struct {
	index          int64
	indexed        bool
	id, name, args []byte
	extra          []byte
}

func (r *reply) toolCalls(s *wire.Scan) {
	if s.Peek() == '{' { // one call without the list around it
		r.toolCall(s)
		return
	}
	if !s.Open('[') {
		return
	}
	for first := true; s.More(']', &first); {
		r.toolCall(s)
	}
}

func (r *reply) toolCall(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	var d delta
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "index":
			d.index, d.indexed = s.Integer()
		case "id":
			d.id, _ = s.Text(&r.fields[0])
		case "function":
			r.function(s, &d)
		case "name":
			d.name, _ = s.Text(&r.fields[1])
		case "arguments":
			r.arguments(s, &d)
		case "extra_content":
			d.extra = s.Raw()
		default:
			s.Skip()
		}
	}
	if s.OK() {
		r.call(d)
	}
}

// function reads the name and the arguments of a call and reports whether
// there was such an object.
func (r *reply) function(s *wire.Scan, d *delta) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "name":
			d.name, _ = s.Text(&r.fields[1])
		case "arguments":
			r.arguments(s, d)
		default:
			s.Skip()
		}
	}
	return s.OK()
}

// arguments reads a string; servers that send the object itself mean its text.
func (r *reply) arguments(s *wire.Scan, d *delta) {
	switch s.Peek() {
	case '"':
		d.args, _ = s.Text(&r.fields[2])
	case '{', '[':
		d.args = s.Raw()
	default:
		s.Skip()
	}
}

// call gives d to the call to which it belongs, or begins one.
func (r *reply) call(d delta) {
	if r.size > provider.MaxReply {
		return // which is told behind the piece
	}
	d.name = bytes.TrimSpace(d.name)
	if len(d.id) == 0 && len(d.name) == 0 && len(d.args) == 0 {
		return
	}
	at := r.find(d)
	if at >= 0 {
		d = r.calls[at].announced(d)
	}
	if at < 0 || r.begins(r.calls[at], d) {
		at = len(r.calls)
		r.size += provider.PartSize
		r.calls = append(r.calls, &call{index: d.index, indexed: d.indexed, chunk: r.chunks})
	}
	r.size += len(d.id) + len(d.name) + len(d.args)
	r.calls[at].add(d)
	r.grown = append(r.grown, at)
}

// announced is d with the id and the name that came before it without
// arguments, when they were another call's than c: gateways that give all calls
// one index begin each with such a piece. Whether it does, and isn't merely c's
// name under a new id, shows when arguments follow.
func (c *call) announced(d delta) delta {
	switch {
	case !c.end.done || len(d.args) > 0 && c.next == nil:
	case len(d.args) == 0:
		if len(d.name) > 0 && len(d.id) > 0 && c.id != "" && c.id != string(d.id) {
			c.next = &delta{id: bytes.Clone(d.id), name: bytes.Clone(d.name)}
		}
	case len(d.name) == 0 && len(bytes.TrimSpace(d.args)) > 0:
		if len(d.id) == 0 {
			d.id = c.next.id
		}
		d.name, c.next = c.next.name, nil
	}
	return d
}

// find is the position of the call that d goes on, -1 when it begins one.
func (r *reply) find(d delta) int {
	last := len(r.calls) - 1
	switch {
	case d.indexed:
		for i := last; i >= 0; i-- {
			if r.calls[i].indexed && r.calls[i].index == d.index {
				return i
			}
		}
		if last < 0 || r.calls[last].indexed || len(d.name) > 0 {
			return -1
		}
	case len(d.id) > 0:
		for i := last; i >= 0; i-- {
			if r.calls[i].id == string(d.id) {
				return i
			}
		}
		if len(d.name) > 0 {
			return -1
		}
	}
	// Neither index nor a known id: it is the last call's, unless it brings
	// what begins another.
	return last
}

// begins reports whether d is a call of its own although c is where its index,
// its id or its place would put it. Nothing that names no tool is.
func (r *reply) begins(c *call, d delta) bool {
	if len(d.name) == 0 || c.name == "" {
		return false
	}
	otherID := len(d.id) > 0 && c.id != "" && c.id != string(d.id)
	otherName := !grows(c.name, d.name)
	named := d.indexed || len(d.id) > 0
	switch {
	case c.end.done && otherID && (len(d.args) > 0 || otherName):
		// One index for all parallel calls, as some gateways send.
		return true
	case c.end.done && len(d.args) > 0 && (!named || c.args.String() != string(d.args)):
		// c has all its arguments: more of them would break it. The same ones
		// again are a repetition.
		return true
	case !named && (otherName || c.chunk == r.chunks):
		// Nothing tells the calls apart but their names and places.
		return true
	}
	return otherID && otherName
}

// grows reports whether name repeats or lengthens have, or is the next piece
// of it: a name that is no repetition is a piece only while no arguments came.
func grows(have string, name []byte) bool { return strings.HasPrefix(string(name), have) }

func (c *call) add(d delta) {
	if c.id == "" {
		c.id = string(d.id)
	}
	if len(d.name) > 0 && c.args.Empty() {
		if grows(c.name, d.name) {
			c.name = string(d.name)
		} else {
			c.name += string(d.name)
		}
	}
	if len(d.extra) > 0 && string(d.extra) != "null" {
		c.extra = bytes.Clone(d.extra)
	}
	if len(d.args) == 0 || c.end.done && c.args.String() == string(d.args) {
		return
	}
	if c.end.done && strings.TrimSpace(c.args.String()) == "{}" && bytes.HasPrefix(bytes.TrimSpace(d.args), []byte("{")) {
		// Some gateways begin every call with an empty object and send the
		// real one behind it.
		c.args, c.end = wire.Text{}, closing{}
	}
	c.args.Add(d.args)
	c.end.read(d.args)
}

// closing notices when a value has been closed, piece by piece: the object of
// arguments, or the string of arguments that were encoded twice.
type closing struct {
	depth           int
	quoted, escaped bool
	done            bool
}

func (c *closing) read(piece []byte) {
	for _, b := range piece {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped = b == '\\'
			c.quoted = b != '"'
			c.done = !c.quoted && c.depth == 0
		case b == '"':
			c.quoted = true
		case b == '{' || b == '[':
			c.depth++
			c.done = false
		case b == '}' || b == ']':
			c.depth--
			c.done = c.depth == 0
		}
	}
}
