package wire

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/llm"
)

// A NameRule is what a vendor lets the name of a function be. ASCII letters,
// digits and the underscore always go.
type NameRule struct {
	Max    int    // bytes
	Others string // the other ASCII characters that may stand in it
	// Letter says that it begins with a letter or an underscore.
	Letter bool
	// Reserved are names that mean something else to the vendor.
	Reserved []string
}

// Names maps the names of one request's tools to names that its vendor takes,
// and back. The zero value changes nothing.
//
// A vendor's package makes them of the request's tools where it encodes the
// request and again where it reads the answer, which costs nothing as long as
// every name goes as it is:
//
//	names := rule.Names(req.Tools)
//	… names.Sent(tool.Name) … names.Sent(call.Name) … // each name that is written
//	yield = names.Restored(yield)                     // before the first event
//
// So the rest of the program knows the tools' own names only, those in the
// history included, and the vendor's only ever sees names that it takes: those
// of tools that are gone, and what a model made up, are fitted as well.
type Names struct {
	rule *NameRule
	sent map[string]string // by the tool's name, where they differ
	own  map[string]string // the other way
}

// Names maps the names of tools. Equal names of tools give equal maps, whatever
// the order of the tools: a name that goes as it is stays, and of the others
// that would become equal the later in the alphabet are numbered.
func (r *NameRule) Names(tools []llm.ToolSpec) Names {
	n := Names{rule: r}
	var odd []string
	for i := range tools {
		if !r.fits(tools[i].Name) {
			odd = append(odd, tools[i].Name)
		}
	}
	if len(odd) == 0 {
		return n
	}
	n.sent, n.own = make(map[string]string, len(odd)), make(map[string]string, len(odd))
	taken := make(map[string]bool, len(tools))
	for i := range tools {
		if r.fits(tools[i].Name) {
			taken[tools[i].Name] = true
		}
	}
	slices.Sort(odd)
	for _, name := range slices.Compact(odd) {
		fit := r.fit(name, "")
		for again := 2; taken[fit]; again++ {
			fit = r.fit(name, "_"+strconv.Itoa(again))
		}
		taken[fit] = true
		n.sent[name], n.own[fit] = fit, name
	}
	return n
}

// Sent is the name by which a tool or a call goes to the vendor.
func (n Names) Sent(name string) string {
	if sent, ok := n.sent[name]; ok {
		return sent
	}
	if n.rule == nil || n.rule.fits(name) {
		return name
	}
	return n.rule.fit(name, "")
}

// Own is the name of the tool that the vendor's side calls by a name; any other
// is what it is.
func (n Names) Own(name string) string {
	if own, ok := n.own[name]; ok {
		return own
	}
	return name
}

// Restored passes on the events of an answer with the tools' own names in them.
// It is yield itself where no name differs.
func (n Names) Restored(yield func(llm.Event, error) bool) func(llm.Event, error) bool {
	if len(n.own) == 0 {
		return yield
	}
	return func(e llm.Event, err error) bool {
		switch {
		case e.Type == llm.EventCall:
			e.Text = n.Own(e.Text)
		case e.Reply != nil:
			for _, p := range e.Reply.Message.Parts {
				if p.Call != nil {
					p.Call.Name = n.Own(p.Call.Name)
				}
			}
		}
		return yield(e, err)
	}
}

// nameless is the name of a call without one.
const nameless = "unknown"

// reservedMark makes a name one's own that the vendor has for itself.
const reservedMark = "_tool"

func (r *NameRule) fits(name string) bool {
	if name == "" || len(name) > r.Max || r.Letter && !letter(name[0]) && name[0] != '_' {
		return false
	}
	for i := range len(name) {
		if !r.may(name[i]) {
			return false
		}
	}
	return !slices.Contains(r.Reserved, name)
}

func (r *NameRule) may(c byte) bool {
	return letter(c) || c == '_' || c >= '0' && c <= '9' || r.Others != "" && strings.IndexByte(r.Others, c) >= 0
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// fit makes a name that fits of one that doesn't, with an end that fits.
func (r *NameRule) fit(name, end string) string {
	if name == "" {
		name = nameless
	}
	fit := strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && r.may(byte(c)) {
			return c
		}
		return '_'
	}, name)
	if r.Letter && !letter(fit[0]) && fit[0] != '_' {
		fit = "_" + fit
	}
	if slices.Contains(r.Reserved, fit) {
		fit += reservedMark
	}
	return fit[:min(len(fit), r.Max-len(end))] + end
}
