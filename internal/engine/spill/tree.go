package spill

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unsafe"

	"golang.org/x/net/html"
)

const (
	// maxTree is how many bytes the tree of a page may take, as they are counted
	// here: more than what an ordinary one of maxParsed takes.
	maxTree = 256 << 20
	// maxRepeated is how many bytes a formatting element may take, lest a single
	// token that repeats it takes far more than fits.
	maxRepeated = 1 << 20
	// What parts of a tree take, in bytes.
	treeNode      = int(unsafe.Sizeof(html.Node{}))
	treeAttribute = int(unsafe.Sizeof(html.Attribute{}))
)

var errTree = fmt.Errorf("as a tree of elements the page takes more than %d MB: it has very many elements, or some that the end of others closes and that are repeated in all that follow; use mode search or lines", maxTree>>20)

// parserState is what is looked at of the library's parser between two tokens.
type parserState struct {
	open   *[]*html.Node // elements
	active *[]*html.Node // formatting elements, which are repeated where they are not open
	token  *html.Token   // the last one
}

// growing is a metered reader for the parser of a page, whose tree may grow far
// beyond the text: HTML has it repeat formatting elements, as <b>, that were open
// when something around them ended. It counts what each token adds to the tree, by
// the text and by what the parser knows, and by nothing else, so that the same
// page fits at any time.
//
// Each Read ends behind the next < or >, where a token may end, so that a tag and
// the text before it are the most that is parsed unseen.
type growing struct {
	work  *meter
	rest  string
	state parserState

	tree         int             // bytes
	open, active []*html.Node    // when it was last looked
	attributes   *html.Attribute // of the token that was counted last
	read         string          // last
}

// parsePage parses a page into a tree within bounds.
func parsePage(work *meter, text string) (*html.Node, error) {
	r := &growing{work: work, rest: text}
	look, err := r.look()
	if err != nil {
		return nil, err
	}
	return html.ParseWithOptions(r, look)
}

// look is an option of the parser that changes nothing and shows r its state. The
// library has no other way to see it: the type of its argument is its own.
func (r *growing) look() (html.ParseOption, error) {
	option := reflect.TypeFor[html.ParseOption]()
	parser := option.In(0).Elem()
	for name, want := range map[string]reflect.Type{"oe": reflect.TypeFor[[]*html.Node](), "afe": reflect.TypeFor[[]*html.Node](), "tok": reflect.TypeFor[html.Token]()} {
		if f, ok := parser.FieldByName(name); !ok || !f.Type.ConvertibleTo(want) {
			return nil, fmt.Errorf("the HTML library has no %s of type %s any more, by which pages are bounded", name, want)
		}
	}
	return reflect.MakeFunc(option, func(args []reflect.Value) []reflect.Value {
		at := func(name string) unsafe.Pointer { return unsafe.Pointer(args[0].Elem().FieldByName(name).UnsafeAddr()) }
		r.state = parserState{(*[]*html.Node)(at("oe")), (*[]*html.Node)(at("afe")), (*html.Token)(at("tok"))}
		return nil
	}).Interface().(html.ParseOption), nil
}

func (r *growing) Read(p []byte) (int, error) {
	looked := r.count()
	switch {
	case r.tree > maxTree:
		return 0, stopped{errTree}
	case r.rest == "":
		return 0, io.EOF
	}
	n := min(len(p), len(r.rest))
	if i := strings.IndexAny(r.rest[:n], "<>"); i >= 0 {
		n = i + 1
	}
	if ended := r.work.run(func() { r.work.spend(n + looked/8) }); ended != nil {
		return 0, stopped{ended}
	}
	copy(p, r.rest[:n])
	r.read, r.rest = r.rest[:n], r.rest[n:]
	return n, nil
}

// count adds to the tree what was read last, and what the parser has added since,
// and returns at how many elements it looked.
func (r *growing) count() int {
	open, active := *r.state.open, *r.state.active
	r.tree += len(r.read)
	if strings.HasSuffix(r.read, "<") {
		if len(r.read) > 1 {
			r.tree += treeNode // text
		}
		if !strings.HasPrefix(r.rest, "/") || hasPrefixFold(r.rest, "/p") || hasPrefixFold(r.rest, "/br") { // these make elements as well
			r.tree += treeNode
		}
	}
	r.tree += treeNode * max(0, len(open)-len(r.open)-1) // elements that were implied
	if a := r.state.token.Attr; len(a) > 0 && &a[0] != r.attributes {
		r.attributes = &a[0]
		r.tree += treeAttribute * cap(a)
	}
	same := 0
	for same < len(open) && same < len(r.open) && open[same] == r.open[same] {
		same++
	}
	if r.state.token.Type == html.EndTagToken && same < len(open) {
		r.tree += r.adopted(same)
	}
	for i, n := range active {
		switch {
		case i < len(r.active) && n == r.active[i]:
		case cloned(n) > maxRepeated:
			r.tree += maxTree
		case i < len(r.active): // else its tag made it
			r.tree += cloned(n)
		}
	}
	r.open, r.active = append(r.open[:same], open[same:]...), append(r.active[:0], active...)
	return len(open) - same + same/8 + len(active)
}

// adopted is what may have been repeated when the end of a formatting element,
// behind the first same open ones, was not behind all that is in it: up to 8 times
// itself and three others.
func (r *growing) adopted(same int) int {
	const rounds, each = 8, 4
	most := 0
	for _, n := range r.active {
		most = max(most, cloned(n))
	}
	return min(rounds, len(r.open)-same) * each * most
}

// cloned is what n takes once more.
func cloned(n *html.Node) int { return treeNode + treeAttribute*len(n.Attr) }
