package spill

import (
	"context"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// Doc is a result's text and what was found out about it.
type Doc struct {
	Name  string // the tool that made it
	Ref   string // under which it is kept; empty when it could not be
	Text  string
	Type  Type
	Lines int
	Chars int // code points; a byte that is no UTF-8 counts as one

	// Sealed says that whoever reads the preview can't read on by the ref.
	Sealed bool

	plain string // why the text was not looked through and is shown as it comes
}

// Describe finds out what text is. When ctx ends before that, it is plain text.
func Describe(ctx context.Context, name, text string) Doc {
	d := Doc{Name: name, Text: text, Lines: lineCount(text), Chars: runes(text)}
	work := looking(ctx, text)
	if err := work.run(func() { d.Type = detect(work, text) }); err != nil {
		d.Type, d.plain = Text, short(err)
	}
	return d
}

// previewItems is how many keys, items, rows or children a preview shows.
const previewItems = 5

// Preview is what the model sees in place of the result: what it is, how much
// of it is shown, the beginning in a form that fits its type, and how to see
// the rest. It has at most limit code points (at least 300 are needed), is
// valid UTF-8, and its numbers are those of the characters really shown. When
// ctx ends meanwhile it is the plain beginning, which takes no time.
func (d Doc) Preview(ctx context.Context, limit int) string {
	if d.plain == "" {
		text, work := "", looking(ctx, d.Text)
		err := work.run(func() { text = d.framed(newPage(work, limit), d.example(work), d.body) })
		if err == nil {
			return text
		}
		d.plain = short(err)
	}
	p := newPage(looking(context.WithoutCancel(ctx), d.Text), limit)
	return d.framed(p, searchExample, func(p *page) bool {
		p.say("Only its beginning, as it comes: %s.\n", d.plain)
		p.part(d.Text, p.room)
		return false
	})
}

// framed writes a preview into the page: the head, what body writes, and how to
// see the rest.
func (d Doc) framed(p *page, example string, body func(*page) bool) string {
	limit := p.room
	var head strings.Builder
	fmt.Fprintf(&head, "[LARGE OUTPUT: %s | type:%s | lines:%d | chars:%d", visible.Text(prefix(d.Name, 64)), d.Type, d.Lines, d.Chars)
	if d.Ref != "" {
		fmt.Fprintf(&head, " | ref:%s", d.Ref)
	}
	head.WriteString("]\n")

	complete := "✅ COMPLETE: the complete result is shown below.\nResult:\n"
	if visible.Count(d.Text) <= limit-runes(head.String())-runes(complete) {
		return head.String() + complete + visible.Text(d.Text)
	}

	// The line with the numbers is written last, but its room is set aside.
	truncated := func(shown int) string {
		return fmt.Sprintf("🛑 TRUNCATED: %d of %d characters are shown below; %d are NOT.\n", shown, d.Chars, d.Chars-shown)
	}
	closing := d.closing(example)
	p.room = limit - runes(head.String()) - runes(truncated(d.Chars)) - len("\nPreview:\n") - len(fmt.Sprint(d.Chars)) - runes(closing)
	switch whole := body(p); {
	case whole && p.room >= 0:
		head.WriteString("✅ COMPLETE: the complete result is shown below, in a shorter form.\nResult:\n")
	default:
		head.WriteString(truncated(p.shown))
		head.WriteString("Preview:\n")
	}
	shown := p.String()
	head.WriteString(shown)
	if !strings.HasSuffix(shown, "\n") {
		head.WriteByte('\n')
	}
	head.WriteString(closing)
	return head.String()
}

// body writes the type's own preview and reports whether nothing is left out
// of it but blanks.
func (d Doc) body(p *page) bool {
	switch d.Type {
	case JSON:
		return p.json(trimFront(d.Text))
	case JSONL:
		p.jsonl(trimFront(d.Text))
	case HTML:
		if p.html(d.Text); p.shown == 0 { // a page without text
			p.text(d)
		}
	case XML:
		p.xml(trimFront(d.Text))
	case CSV:
		if t, ok := sniffTable(p.work, d.Text); ok {
			p.table(t)
		} else {
			p.text(d)
		}
	case Binary:
		p.binary(d.Text)
	default:
		p.text(d)
	}
	return false
}

// closing tells how to see the rest, by an example.
func (d Doc) closing(example string) string {
	if d.Ref == "" {
		return "The rest could not be kept. To see it, make the call again so that it returns less at a time."
	}
	if d.Sealed {
		return "The rest can't be read here. To see more, make the call again so that it returns less at a time."
	}
	return fmt.Sprintf("To explore the full data, call the SEPARATE 'read_output' tool:\nread_output(ref: %q, %s)\nModes: %s.",
		d.Ref, example, strings.Join(fitting(d.Type), ", "))
}

const searchExample = `mode: "search", query: "..."`

// example is how to read on in what is of this type.
func (d Doc) example(work *meter) string {
	switch d.Type {
	case JSON:
		if s := trimFront(d.Text); s[0] == '{' {
			return fmt.Sprintf(`mode: "path", query: %s`, keyQuery(work, s))
		}
		return `mode: "path", query: ".[5:10]"`
	case HTML:
		return `mode: "path", query: "h2"`
	case XML:
		return fmt.Sprintf(`mode: "path", query: "%s"`, childQuery(work, trimFront(d.Text)))
	case CSV:
		return fmt.Sprintf(`mode: "rows", from: %d, to: %d`, previewItems+1, previewItems+20)
	case Binary:
		return `mode: "head", from: 257`
	}
	return searchExample
}

// binary says what the bytes are and dumps the first of them.
func (p *page) binary(s string) {
	first := s[:min(len(s), 16*dumpRow)]
	p.say("Binary data, %s, %d bytes. Its first %d bytes:\n", describeBinary(s), len(s), len(first))
	for off := 0; off < len(first); off += dumpRow {
		var row strings.Builder
		data := first[off:min(len(first), off+dumpRow)]
		dump(&row, data, off)
		if !p.say("%s", row.String()) {
			return
		}
		p.shown += runes(data)
	}
}

// table shows the first rows and how many there are.
func (p *page) table(t table) {
	rows, first := 0, make([]string, 0, previewItems+1)
	for r := t.records(); ; rows++ {
		row, ok := r.next()
		if !ok {
			break
		}
		if len(first) < cap(first) {
			first = append(first, row)
		}
	}
	name, header := delimiterName(t.comma), ""
	if t.header {
		rows--
		header, first = first[0], first[1:]
		p.say("%d columns, %d records below the header, delimiter %s\n", t.cols, rows, name)
	} else {
		p.say("%d columns, %d records, no header, delimiter %s\n", t.cols, rows, name)
	}
	room := p.room - len("... 1234567890 more records\n")
	if header != "" {
		p.say("header: ")
		p.brief(header, room/3)
		p.say("\n")
		room = p.room - len("... 1234567890 more records\n")
	}
	first = first[:min(len(first), previewItems)]
	for i, row := range first {
		before := p.room
		p.say("[%d] ", i+1)
		p.brief(row, room/(len(first)-i)-8)
		p.say("\n")
		room -= before - p.room
	}
	if more := rows - len(first); more > 0 {
		p.say("... %d more records\n", more)
	}
}

func delimiterName(c byte) string {
	if c == '\t' {
		return "tab"
	}
	return fmt.Sprintf("%q", string(c))
}

// text shows the first lines and the last few.
func (p *page) text(d Doc) {
	s := d.Text
	if what, ok := dataURI(s); ok {
		p.say("%s. Its text is of no use in a preview; it begins:\n", what)
		p.brief(s, 120)
		return
	}
	const marker = "\n... 1234567890 characters in 1234567890 lines are left out here ...\n"
	room := p.room - len(marker)
	tail := room / 4
	head := newPage(p.work, room-tail)
	longest := max(room/8, 160) // of a line among others
	if d.Lines < 8 {
		longest = head.room / max(d.Lines, 1)
	}
	from := head.lines(s, longest)
	if from == 0 { // not even one line in a shorter form
		from = head.part(s, head.room)
	}
	end := newPage(p.work, tail)
	to := end.lastLines(s[from:], longest) + from
	p.add(head)
	if left := s[from:to]; left != "" {
		if !strings.HasSuffix(s[:from], "\n") {
			p.say("\n")
		}
		if n := strings.Count(left, "\n"); n > 1 {
			p.say("... %d characters in %d lines are left out here ...\n", runes(left), n)
		} else {
			p.say("... %d characters are left out here ...\n", runes(left))
		}
	}
	p.add(end)
}

// lines shows lines of s as long as they fit, each cut to longest characters,
// and returns where the first one begins that is not shown.
func (p *page) lines(s string, longest int) int {
	at := 0
	for at < len(s) {
		line, _ := nextLine(s[at:])
		p.work.spend(len(line))
		if !p.line(line, longest) {
			break
		}
		at += len(line)
	}
	return at
}

// line shows one line, cut to longest characters.
func (p *page) line(line string, longest int) bool {
	if visible.Fit(line, longest+1) == len(line) {
		return p.show(line)
	}
	q := newPage(p.work, min(p.room, longest+40))
	n := q.part(line, longest)
	text, end := line[n:], ""
	if strings.HasSuffix(text, "\n") {
		text, end = text[:len(text)-1], "\n"
	}
	if n == 0 || !q.say(" …(+%d characters)", runes(text)) || !q.show(end) {
		return false
	}
	p.add(q)
	return true
}

// lastLines shows the last lines of s that fit, or the end of the last one, and
// returns where what is shown begins.
func (p *page) lastLines(s string, longest int) int {
	from := len(s)
	for room := p.room; from > 0; {
		prev := strings.LastIndexByte(s[:from-1], '\n') + 1
		p.work.spend(from - prev)
		need := visible.Fit(s[prev:from], longest+1)
		cost := longest + 40
		if need == from-prev {
			cost = visible.Count(s[prev:from])
		}
		if cost > room {
			break
		}
		room -= cost
		from = prev
	}
	if from == len(s) {
		end := suffix(s, p.room)
		p.show(end)
		return len(s) - len(end)
	}
	p.lines(s[from:], longest)
	return from
}

// dataURI says what a data: address holds.
func dataURI(s string) (string, bool) {
	if !hasPrefixFold(s, "data:") {
		return "", false
	}
	comma := strings.IndexByte(s[:min(len(s), 200)], ',')
	if comma < 0 || strings.ContainsAny(s[:comma], " \n") {
		return "", false
	}
	kind, base64 := strings.CutSuffix(s[len("data:"):comma], ";base64")
	if kind == "" {
		kind = "text/plain"
	}
	if !base64 {
		return fmt.Sprintf("A data: address of type %s with %d bytes of data", visible.Text(kind), len(s)-comma-1), true
	}
	return fmt.Sprintf("A data: address of type %s with about %d bytes of data in base64", visible.Text(kind), (len(s)-comma-1)/4*3), true
}
