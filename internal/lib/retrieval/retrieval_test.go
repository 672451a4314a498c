package retrieval_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	x := retrieval.NewIndex([][]string{
		{"stock", "prices of stocks"},
		{"weather", "tomorrow's weather and a very long tale of all the days that follow it"},
		{"prices", ""},
		{"weather", "short"},
	}, retrieval.Options{
		Fields:     []retrieval.Field{{Weight: 2, Norm: 0.5}, {Weight: 1, Norm: 0.75}},
		Saturation: 1.2,
		Keep:       func(_ int, word []byte) bool { return !retrieval.Stop(word) },
		Stem:       retrieval.Stem,
	})
	term := func(word string) int32 {
		id, ok := x.Word([]byte(word))
		if !ok {
			id, ok = x.Term(retrieval.Stem(nil, []byte(word)))
		}
		if !ok {
			t.Fatalf("no term for %s", word)
		}
		return id
	}
	docs := func(word string) (all []int32) {
		for _, p := range x.Postings(term(word)) {
			all = append(all, p.Doc)
		}
		return all
	}
	if term("stocks") != term("stock") || x.Stem(term("stock")) != "stock" {
		t.Error("stocks is not stock")
	}
	for word, want := range map[string][]int32{"pricing": {0, 2}, "weather": {1, 3}, "days": {1}} {
		if got := docs(word); !slices.Equal(got, want) {
			t.Errorf("%s is in %v, want %v", word, got, want)
		}
	}
	if _, ok := x.Word([]byte("the")); ok {
		t.Error("a stop word was kept")
	}
	if _, ok := x.Term([]byte("parrot")); ok {
		t.Error("there is no parrot")
	}
	weather := x.Postings(term("weather"))
	if w := x.Postings(term("prices")); !(retrieval.Find(w, 2) > retrieval.Find(w, 0)) {
		t.Error("a word of the heavier field counts no more")
	}
	if retrieval.Find(weather, 0) != 0 || retrieval.Find(weather, 3) == 0 {
		t.Error("found where it isn't, or not where it is")
	}
	if x.Terms() != len(slices.Collect(x.Stems())) || !slices.Contains(slices.Collect(x.Words()), "stocks") {
		t.Error("terms, stems and words don't agree")
	}
	if rare, common := retrieval.Rarity(1, 100), retrieval.Rarity(99, 100); !(rare > common && common > 0) {
		t.Errorf("rare %v, common %v", rare, common)
	}
}

func TestSpelling(t *testing.T) {
	t.Parallel()
	s := retrieval.NewSpelling([]string{"flight", "movie", "weather", "whether", "naïve", "abc", "movie"})
	for word, want := range map[string]string{
		"flihgt": "flight", "fligt": "flight", "flightt": "flight", "floght": "flight", "lfight": "flight",
		"moive": "movie", "weathr": "weather", "wheather": "weather",
		"movie": "", "slight": "", "abd": "", "fliiightt": "", "naive": "", "": "", "xx1234": "",
	} {
		if got, ok := s.Near([]byte(word)); got != want || ok != (want != "") {
			t.Errorf("%s is near %q, want %q", word, got, want)
		}
	}
	if got, ok := retrieval.NewSpelling(nil).Near([]byte("flight")); ok {
		t.Errorf("nothing is known, got %s", got)
	}
}

// TestSpellingSlips makes a slip in any word: the word, or another as near, is found.
func TestSpellingSlips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{6,12}`).Draw(t, "word")
		slipped := []byte(word)
		at := rapid.IntRange(1, len(word)-2).Draw(t, "at")
		switch rapid.IntRange(0, 3).Draw(t, "slip") {
		case 0:
			slipped = slices.Delete(slipped, at, at+1)
		case 1:
			slipped = slices.Insert(slipped, at, 'q')
		case 2:
			slipped[at] = 'q'
		case 3:
			slipped[at], slipped[at+1] = slipped[at+1], slipped[at]
		}
		if string(slipped) == word {
			t.Skip("no slip")
		}
		if got, ok := retrieval.NewSpelling([]string{word}).Near(slipped); !ok || got != word {
			t.Fatalf("%s is near %q, want %s", slipped, got, word)
		}
	})
}

func TestLetters(t *testing.T) {
	t.Parallel()
	words := []string{"forecast", "forecasting", "weather", "broadcast", "日本語"}
	l := retrieval.NewLetters(words)
	var s retrieval.LettersScratch
	like := func(word string, least float32, limit int) (all []string) {
		for _, k := range l.Like([]byte(word), least, limit, &s) {
			all = append(all, words[k.Word])
		}
		return all
	}
	for _, test := range []struct {
		word  string
		limit int
		want  []string
	}{
		{"forecaster", 9, []string{"forecast", "forecasting"}},
		{"forecaster", 1, []string{"forecast"}},
		{"wetherforecast", 9, []string{"forecast", "forecasting"}},
		{"zzz", 9, nil},
		{"", 9, nil},
	} {
		if got := like(test.word, 0.4, test.limit); !slices.Equal(got, test.want) {
			t.Errorf("%s is like %q, want %q", test.word, got, test.want)
		}
	}
	if got := l.Like([]byte("weather"), 0, 1, &s); len(got) != 1 || math.Abs(float64(got[0].Share-1)) > 1e-6 {
		t.Errorf("a word shares %v of itself", got)
	}
}

// TestIndexOrder holds that the order of documents changes nothing but their
// numbers.
func TestIndexOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`([a-d]{1,2} ){0,6}`), 1, 6).Draw(t, "texts")
		o := retrieval.Options{Fields: []retrieval.Field{{Weight: 1, Norm: 0.5}}, Saturation: 1}
		scores := func(texts []string) map[string]float32 {
			docs := make([][]string, len(texts))
			for i, s := range texts {
				docs[i] = []string{s}
			}
			x := retrieval.NewIndex(docs, o)
			all := map[string]float32{}
			for term := range int32(x.Terms()) {
				for _, p := range x.Postings(term) {
					all[fmt.Sprintf("%s in %s", x.Stem(term), texts[p.Doc])] = p.Score
				}
			}
			return all
		}
		turned := slices.Clone(texts)
		slices.Reverse(turned)
		near := cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 })
		if diff := cmp.Diff(maps.Clone(scores(texts)), scores(turned), near); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "Create_an IssueHTTP2s’x", "天気がいい a-b-c_d", "İß\xffﬁ가나", "l'hôtel, d'été; it's"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var text retrieval.Text
		text.Read(s)
		parts := int32(0)
		for _, w := range text.Words() {
			if len(text.Bytes(w)) == 0 {
				t.Error("an empty word")
			}
			if w.Parts == 1 || w.Parts < 0 || w.Parts > 0 && parts > 0 {
				t.Errorf("a compound of %d parts, %d are open", w.Parts, parts)
			}
			if parts--; w.Parts > 0 {
				parts = w.Parts
			}
			if w.Clause < 0 {
				t.Errorf("clause %d", w.Clause)
			}
		}
		if parts > 0 {
			t.Errorf("%d parts are missing", parts)
		}
	})
}
