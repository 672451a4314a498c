package selection

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func oddCatalogs() map[string][]Doc {
	var alike []Doc
	for i := range 400 {
		alike = append(alike, Doc{Name: fmt.Sprintf("copy_tool_%d", i), Description: "Copies one record to another place."})
	}
	return map[string][]Doc{
		"empty":             {},
		"no words":          {{Name: "_"}, {Name: "!!"}, {Name: "😀"}},
		"no description":    {{Name: "paint_fence"}, {Name: "sendMail"}, {Name: "x"}},
		"alike":             alike,
		"long":              {{Name: "novel", Description: strings.Repeat("the fence of a long story and who would paint it ", 210)}, {Name: "paint_fence", Description: "Paints."}},
		"schemas of no use": {{Name: "paint_fence", Parameters: []byte(`7`)}, {Name: "b", Parameters: []byte(`{"properties":[]}`)}, {Name: "c", Parameters: []byte(`{`)}},
	}
}

func oddMessages() []string {
	return []string{
		"", " \n\t", "?", "😀😀 🎨", "\xff\xfe", "paint the fence", "peins la clôture", "给栅栏刷漆", "покрась забор", "フェンスを塗って", "sơn hàng rào",
		strings.Repeat("paint the fence, ", 640), strings.Repeat("x", 10<<10), strings.Repeat("栅", 4<<10), strings.Repeat("a.b@c.d ", 2000),
	}
}

// Whatever a catalog or a message is like, ranking holds.
func TestOddCatalogsAndMessages(t *testing.T) {
	t.Parallel()
	for name, docs := range oddCatalogs() {
		x := NewIndex(docs)
		for _, message := range oddMessages() {
			hits := x.Rank(message, nil, 12)
			if len(hits) > 12 || len(docs) == 0 && hits != nil {
				t.Errorf("%s, %.30q: %d hits", name, message, len(hits))
			}
			if again := x.Rank(message, nil, 12); !slices.Equal(found(docs, hits), found(docs, again)) {
				t.Errorf("%s, %.30q: %v, then %v", name, message, found(docs, hits), found(docs, again))
			}
		}
	}
	// Of many that are alike the best is the one that the message names, and a long
	// description outweighs nothing.
	alike := oddCatalogs()["alike"]
	if hits := NewIndex(alike).Rank("run copy_tool_217 now", nil, 12); len(hits) == 0 || alike[hits[0].Doc].Name != "copy_tool_217" {
		t.Errorf("%v", found(alike, hits))
	}
	long := oddCatalogs()["long"]
	if hits := NewIndex(long).Rank("paint the fence", nil, 12); len(hits) == 0 || long[hits[0].Doc].Name != "paint_fence" {
		t.Errorf("%v", found(long, hits))
	}
}
