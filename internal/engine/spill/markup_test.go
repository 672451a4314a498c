package spill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// unclosed is a page of elements that were left open: each paragraph of the
// library's tree repeats them all.
func unclosed(begin string, elements, paragraphs int, attributes string) string {
	var b strings.Builder
	b.WriteString(begin + "<p>")
	for i := range elements {
		fmt.Fprintf(&b, "<b id=%d%s>", i, attributes)
	}
	b.WriteString("</p>" + strings.Repeat("<p>x", paragraphs))
	return b.String()
}

// TestTreesAreBounded shows that a page whose tree would be far larger than its
// text is refused, wherever that happens in it.
func TestTreesAreBounded(t *testing.T) {
	t.Parallel()
	var attributes, many strings.Builder
	for i := range 1000 {
		fmt.Fprint(&attributes, " a", i)
	}
	for i := range 30_000 {
		fmt.Fprint(&many, " a", i)
	}
	for name, page := range map[string]string{
		"paragraphs":  unclosed("<html>", 400, 25_000, ""),
		"in a table":  unclosed("<html><table><tr><td>", 400, 25_000, ""),
		"past raw":    unclosed("<html><svg><style></svg><script>'<!--"+strings.Repeat("x", 100_000)+"</script>", 400, 25_000, ""),
		"attributes":  unclosed("<html>", 400, 25_000, attributes.String()),
		"blocks in":   strings.Repeat("<b"+attributes.String()+">"+strings.Repeat("<div>", 9)+"</b>"+strings.Repeat("</div>", 9), 400),
		"one element": "<b" + many.String() + ">" + strings.Repeat("<div>", 9) + "</b>",
		"elements":    "<html>" + strings.Repeat("<br>", maxParsed/4-2),
		"end tags":    "<html>" + strings.Repeat("</p>", maxParsed/4-2),
		"implied":     "<html>" + strings.Repeat("<table><td></table>", maxParsed/19-2),
	} {
		_, err := parseHTML(&meter{ctx: t.Context(), left: maxSelectorSteps, over: errSelector}, page)
		if !errors.Is(err, errTree) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseHTML(&meter{ctx: t.Context(), left: maxSelectorSteps, over: errSelector}, "<html>"+strings.Repeat("<div>", 600)); err == nil || !strings.Contains(err.Error(), "can't be parsed") {
		t.Errorf("too deep: %v", err)
	}
	few := unclosed("<html>", 3, 20_000, "")
	if got, err := readFrom(t.Context(), few, testRoom, ReadArgs{Mode: "path", Query: "p:nth-of-type(2) b"}); err != nil || !strings.Contains(got, "id=") {
		t.Errorf("three that are left open: %v\n%s", err, got)
	}
}

// TestPagesFitWhateverElseGoesOn shows that a page which fits alone fits beside
// others, up to the largest that is parsed.
func TestPagesFitWhateverElseGoesOn(t *testing.T) {
	t.Parallel()
	page := func(size int) string {
		var b strings.Builder
		b.WriteString("<!doctype html><html><body><table>\n")
		for i := 0; b.Len() < size-200; i++ {
			fmt.Fprintf(&b, "<tr><td><a href='/items/%d'>Item %d</a></td><td class=n><b>%d</b></td><td>some words about it</td></tr>\n", i, i, i*i)
		}
		return b.String() + "</table><p id=last>x</p></body></html>"
	}
	parse := func(text string) {
		root, err := parseHTML(&meter{ctx: t.Context(), left: maxSelectorSteps, over: errSelector}, text)
		if err != nil || root == nil {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	parse(page(maxParsed))
	small := page(3_400_000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { parse(small) })
	}
	all.Wait()
}

// TestXPathFunctions shows what an XPath may not use, and that a string may say it.
func TestXPathFunctions(t *testing.T) {
	t.Parallel()
	const doc = "<?xml version='1.0'?><a><b>translate(x) OK</b></a>"
	for _, name := range []string{"matches", "replace", "translate"} {
		query := "//b[" + name + " (., /, 'x')]"
		if _, err := readFrom(t.Context(), doc, testRoom, ReadArgs{Mode: "path", Query: query}); err == nil || !strings.Contains(err.Error(), "may not use "+name+"(); use contains()") {
			t.Errorf("%s: %v", query, err)
		}
	}
	for _, query := range []string{"//b[contains(., 'translate(')]", "//b[contains(lower-case(.), 'ok')]"} {
		if got, err := readFrom(t.Context(), doc, testRoom, ReadArgs{Mode: "path", Query: query}); err != nil || !strings.Contains(got, "translate(x) OK") {
			t.Errorf("%s: %v\n%s", query, err, got)
		}
	}
}

// What a query may take begins when it is its turn: before that it waits for the
// memory of others, as long as whoever asks waits.
func TestQueriesWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	if err := parsing.Acquire(t.Context(), maxParsing); err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context) (string, error) {
		return readFrom(ctx, "<html><p id=last>x</p>", testRoom, ReadArgs{Mode: "path", Query: "#last"})
	}
	left, waited := make(chan error), make(chan error)
	go func() { _, err := read(ctx); left <- err }()
	go func() { _, err := read(t.Context()); waited <- err }()
	gone := errors.New("the run was stopped")
	stop(gone)
	if err := <-left; !errors.Is(err, gone) {
		t.Errorf("who leaves is told %v", err)
	}
	select {
	case err := <-waited:
		t.Errorf("it didn't wait: %v", err)
	default:
	}
	parsing.Release(maxParsing)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}
