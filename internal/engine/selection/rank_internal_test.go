package selection

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

// crowd is n tools with names, descriptions and parameters as real ones have:
// those of testdata, again and again for other systems.
func crowd(tb testing.TB, n int) []Doc {
	tb.Helper()
	plugins, _ := labelled(tb, "plugins", false)
	shipped, _ := labelled(tb, "shipped", false)
	kinds := append(shipped, plugins...)
	docs := make([]Doc, n)
	for i := range docs {
		d := kinds[i%len(kinds)]
		system := fmt.Sprintf("system%d", i/len(kinds))
		d.Name = system + "_" + d.Name
		d.Description += " For " + system + "."
		if d.Parameters == nil {
			d.Parameters = json.RawMessage(`{"properties":{"query":{"description":"what to look for"},"limit":{"description":"how many"}}}`)
		}
		docs[i] = d
	}
	return docs
}

// messages are short and long ones.
func messages(tb testing.TB) map[string]string {
	tb.Helper()
	_, queries := labelled(tb, "plugins", false)
	var all []string
	for _, q := range queries {
		all = append(all, q.Text)
	}
	return map[string]string{
		"short": "Find me a flight to Rome next Friday and a hotel near the station",
		"long":  strings.Join(all, "\n"), // of which as much is read as of any
	}
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		x := NewIndex(crowd(b, n))
		for name, m := range messages(b) {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					x.Rank(m, nil, 12)
				}
			})
		}
	}
}

func BenchmarkNewIndex(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		docs := crowd(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewIndex(docs)
			}
		})
	}
}

func found(docs []Doc, hits []Hit) []string {
	var all []string
	for _, h := range hits {
		all = append(all, docs[h.Doc].Name)
	}
	return all
}

func TestRank(t *testing.T) {
	t.Parallel()
	docs := []Doc{
		{Name: "github_create_issue", Description: "Open an issue in a repository.", Owner: "mcp github"},
		{Name: "github_list_issues", Description: "List issues of a repository."},
		{Name: "message", Description: "Tell a person something.", Category: "messaging"},
		{Name: "AirQualityForecast", Description: "How clean it will be."},
		{Name: "Movie Finder", Description: "What is on tonight."},
		{Name: "thermostat", Description: "Set the heating.", Parameters: json.RawMessage(`{"properties":{"degrees":{"type":"number"},"room":{"description":"bathroom, bedroom or kitchen"}}}`)},
		{Name: "tagged", Description: "Does it.", Tags: []string{"invoices"}},
		{Name: "wetter", Description: "天气预报"},
		{Name: "b_twin", Description: "Feeds the parrot."},
		{Name: "a_twin", Description: "Feeds the parrot."},
	}
	x := NewIndex(docs)
	tests := []struct {
		message string
		want    []string // the first hits
		layer   string   // of the first reason
		words   []string
	}{
		{"call github_create_issue now", []string{"github_create_issue"}, "name", []string{"githubcreateissue"}},
		{"Create issue on GitHub", []string{"github_create_issue", "github_list_issues"}, "name part", []string{"create", "issue", "github"}},
		{"ask the movie finder", []string{"Movie Finder"}, "name", []string{"movie"}},
		{"quality of the air", []string{"AirQualityForecast"}, "name part", []string{"quality", "air"}},
		{"get mail to Bob", []string{"message"}, "category", []string{"mail"}},
		{"what about the bathroom", []string{"thermostat"}, "words", []string{"bathroom"}},
		{"the invoices", []string{"tagged"}, "category", []string{"invoices"}},
		{"北京天气", []string{"wetter"}, "category", []string{"天气"}},
		{"parrots", []string{"a_twin", "b_twin"}, "words", []string{"parrots"}},
		{"hungry parot", []string{"a_twin", "b_twin"}, "words", []string{"~parot"}},
		{"thanks a lot!", nil, "", nil},
		{"What is it?", nil, "", nil},
		{"who is there", nil, "", nil},
		{"go on", nil, "", nil},
		{"", nil, "", nil},
	}
	for _, test := range tests {
		hits := x.Rank(test.message, nil, len(docs))
		got := found(docs, hits)
		if len(test.want) == 0 && len(got) > 0 || len(got) < len(test.want) || !slices.Equal(got[:len(test.want)], test.want) {
			t.Errorf("%q: got %q, want %q", test.message, got, test.want)
			continue
		}
		if len(test.want) == 0 {
			continue
		}
		if why := hits[0].Reasons[0]; why.Layer != test.layer || !slices.Equal(why.Words, test.words) {
			t.Errorf("%q: found by %s %q, want %s %q", test.message, why.Layer, why.Words, test.layer, test.words)
		}
		sum := 0.0
		for _, r := range hits[0].Reasons {
			sum += r.Score
		}
		if math.Abs(sum-hits[0].Score) > 1e-6*sum {
			t.Errorf("%q: reasons of %v, a score of %v", test.message, sum, hits[0].Score)
		}
	}
}

// TestNumbersAndSingleLettersSayNothing holds that they speak for a tool only as a
// part of its name, and a number not even there, unless letters stand with it.
func TestNumbersAndSingleLettersSayNothing(t *testing.T) {
	t.Parallel()
	docs := []Doc{
		{Name: "paginate", Description: "Shows 3 of 9 pages, x by x, since 2024.", Parameters: json.RawMessage(`{"properties":{"n":{"description":"1 to 10"}}}`), Tags: []string{"7"}},
		{Name: "360", Description: "Looks around."},
		{Name: "report_5", Description: "Writes it."},
		{Name: "s3_put", Description: "Stores an object."},
		{Name: "ec2_list", Description: "Lists machines."},
		{Name: "encode_h264", Description: "Shrinks a film."},
		{Name: "x_post", Description: "Says it to the world."},
		{Name: "gpt_4", Description: "Asks another model."},
		{Name: "wetter", Description: "雨"},
	}
	x := NewIndex(docs)
	for message, want := range map[string][]string{
		"3 percent of 9":          nil,
		"3":                       nil,
		"2.5 or 2024, n = 10?":    nil,
		"7 360 5":                 nil,
		"10-4":                    nil,
		"٣ 3":                     nil,
		"é":                       nil,
		"what about s3":           {"s3_put"},
		"on ec2":                  {"ec2_list"},
		"as h264":                 {"encode_h264"},
		"on X":                    {"x_post"},
		"gpt 4":                   {"gpt_4"},
		"雨":                       {"wetter"},
		"the 3 pages, 5 times":    {"paginate", "report_5"},
		"put 3 and 9 in s3 for x": {"s3_put", "x_post", "report_5"},
	} {
		hits := x.Rank(message, nil, len(docs))
		if got := found(docs, hits); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
		for _, h := range hits {
			for _, r := range h.Reasons {
				if slices.ContainsFunc(r.Words, func(w string) bool { return strings.Trim(w, "~0123456789") == "" }) {
					t.Errorf("%q: %s of %s is %q", message, r.Layer, docs[h.Doc].Name, r.Words)
				}
			}
		}
	}
}

func TestRankKeeps(t *testing.T) {
	t.Parallel()
	docs, _ := labelled(t, "plugins", false)
	x := NewIndex(docs)
	const message = "weather and flights to Rome, and a hotel"
	all := x.Rank(message, nil, len(docs))
	if len(all) < 6 {
		t.Fatalf("only %d hits", len(all))
	}
	odd := func(i int) bool { return i%2 == 1 }
	var want []Hit
	for _, h := range all {
		if odd(h.Doc) {
			want = append(want, h)
		}
	}
	got := x.Rank(message, odd, 3)
	if diff := cmp.Diff(want[:3], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := x.Rank(message, nil, 0); got != nil {
		t.Errorf("asked for none, got %v", got)
	}
	if got := NewIndex(nil).Rank(message, nil, 3); got != nil {
		t.Errorf("nothing to find, got %v", got)
	}
}

// TestRankLong shows that what stands in the middle of a very long message is
// not read, and that it costs no more than its ends.
func TestRankLong(t *testing.T) {
	t.Parallel()
	docs, _ := labelled(t, "plugins", false)
	x := NewIndex(docs)
	filler := strings.Repeat("lorem ", 200_000)
	hits := x.Rank("Translate this: "+filler+"parking"+filler+" and find a horoscope.", nil, 12)
	got := found(docs, hits)
	if !slices.Contains(got, "TransLingo") || !slices.Contains(got, "AstroChart") || slices.Contains(got, "ParkSpot") {
		t.Errorf("got %q", got)
	}
}

// TestRankConcurrent is for the race detector, and holds that equal requests
// get equal answers.
func TestRankConcurrent(t *testing.T) {
	t.Parallel()
	docs, queries := labelled(t, "plugins", false)
	x, y := NewIndex(docs), NewIndex(docs)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, q := range queries {
				if diff := cmp.Diff(x.Rank(q.Text, nil, 12), y.Rank(q.Text, nil, 12)); diff != "" {
					t.Errorf("%q:\n%s", q.Text, diff)
				}
			}
		})
	}
	all.Wait()
}

func FuzzRank(f *testing.F) {
	docs, queries := labelled(f, "shipped", false)
	x := NewIndex(docs)
	for _, q := range queries[:40] {
		f.Add(q.Text, uint8(12))
	}
	f.Add("a\xff-b_c’d GitHUBs 𐐷 İß ﬁ 漢字かな", uint8(3))
	f.Fuzz(func(t *testing.T, message string, k uint8) {
		hits := x.Rank(message, nil, int(k))
		if len(hits) > int(k) {
			t.Errorf("%d hits, asked for %d", len(hits), k)
		}
		for i, h := range hits {
			if !(h.Score > 0) || len(h.Reasons) == 0 {
				t.Errorf("%s: score %v, reasons %v", docs[h.Doc].Name, h.Score, h.Reasons)
			}
			if i > 0 && x.order(hits[i-1], h) >= 0 {
				t.Errorf("%v stands before %v", hits[i-1], h)
			}
		}
	})
}

var update = flag.Bool("update", false, "write the stems of topics anew")

func readTopics(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("topics.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTopicStems holds the file that is read to the one that is written.
func TestTopicStems(t *testing.T) {
	t.Parallel()
	of := map[string][]string{}
	id := 0
	for line := range dataLines(readTopics(t)) {
		_, list, _ := strings.Cut(line, ":")
		for _, w := range strings.Fields(list) {
			stem := ""
			for part := range strings.SplitSeq(w, "_") {
				if retrieval.Stop([]byte(part)) {
					stem += part
				} else {
					stem += string(retrieval.Stem(nil, []byte(part)))
				}
			}
			if n := strconv.Itoa(id); !slices.Contains(of[stem], n) {
				of[stem] = append(of[stem], n)
			}
		}
		id++
	}
	var want strings.Builder
	want.WriteString("# Made of topics.txt by: go test ./internal/engine/selection -run TopicStems -update\n" + strconv.Itoa(id) + "\n")
	for _, stem := range slices.Sorted(maps.Keys(of)) {
		want.WriteString(stem + " " + strings.Join(of[stem], " ") + "\n")
	}
	if *update {
		if err := os.WriteFile("topics.stems", []byte(want.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want.String() != stemsFile {
		t.Error("topics.stems is not of topics.txt: run the test with -update")
	}
	v := known()
	if v.topics != id || len(of) > slotCount/2 || len(v.stems) >= math.MaxUint16 {
		t.Errorf("%d topics with %d stems in %d bytes: widen the slots", v.topics, len(of), len(v.stems))
	}
	for stem, ids := range of {
		var got []string
		for _, n := range v.of([]byte(stem), nil) {
			got = append(got, strconv.Itoa(int(n)))
		}
		if !slices.Equal(got, ids) || len(v.of([]byte(stem+"~"), nil)) > 0 || len(v.of([]byte(stem[:len(stem)-1]+"~"), nil)) > 0 {
			t.Errorf("%s is of the topics %v, want %v", stem, got, ids)
		}
	}
}

// TestTopics holds the table to what reading it relies on.
func TestTopics(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var text retrieval.Text
	for line := range dataLines(readTopics(t)) {
		name, list, ok := strings.Cut(line, ": ")
		if !ok || seen[name] {
			t.Errorf("%q is not a topic, a colon and words, or stands twice", line)
		}
		seen[name] = true
		for _, w := range strings.Fields(list) {
			if strings.Count(w, "_") > 1 {
				t.Errorf("%s: %s is more than two words, which nothing looks for", name, w)
			}
			text.Read(strings.ReplaceAll(w, "_", " "))
			folded := ""
			for i, part := range text.Words() {
				if i > 0 {
					folded += "_"
				}
				folded += string(text.Bytes(part))
			}
			if folded != w {
				t.Errorf("%s: %s is read as %s", name, w, folded)
			}
			if !strings.Contains(w, "_") && retrieval.Stop([]byte(w)) {
				t.Errorf("%s: %s says nothing in any message", name, w)
			}
		}
	}
}

// All words of a name in a message speak for that tool, whatever rarer word
// others have.
func TestAWholeNameInAnyOrderCounts(t *testing.T) {
	t.Parallel()
	var docs []Doc
	for _, of := range []string{"domain", "invoice", "ticket", "server", "parcel", "vendor", "lease", "badge", "meter", "crate"} {
		for _, do := range []string{"lock", "list", "create", "delete", "merge", "export"} {
			docs = append(docs, Doc{Name: of + "_" + do, Description: "Does that in a record."})
		}
	}
	for _, do := range []string{"split", "renew", "audit"} {
		docs = append(docs, Doc{Name: "domain_" + do, Description: "Does that in a zone."})
	}
	hits := NewIndex(docs).Rank("lock domain zone", nil, 12)
	if len(hits) == 0 || docs[hits[0].Doc].Name != "domain_lock" {
		t.Errorf("got %q", found(docs, hits))
	}
}
