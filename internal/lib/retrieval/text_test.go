package retrieval_test

import (
	"slices"
	"testing"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

func words(s string) []string {
	var t retrieval.Text
	t.Read(s)
	var all []string
	for _, w := range t.Words() {
		all = append(all, string(t.Bytes(w)))
	}
	return all
}

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"Create an Issue!", []string{"create", "an", "issue"}},
		{"github_create_issue", []string{"githubcreateissue", "github", "create", "issue"}},
		{"AirQualityForecast", []string{"airqualityforecast", "air", "quality", "forecast"}},
		{"HTTPRequest of PDFs", []string{"httprequest", "http", "request", "of", "pdfs"}},
		{"e-mail - now", []string{"email", "e", "mail", "now"}},
		{"What's up, they’re l’hôtel", []string{"what", "up", "they", "l", "hotel"}},
		{"Straße Ångström ﬁle ÆON", []string{"strasse", "angstrom", "file", "aeon"}},
		{"天气预报 a 雨", []string{"天气", "气预", "预报", "a", "雨"}},
		{"がぎ 서울날씨", []string{"がぎ", "서울", "울날", "날씨"}},
		{"report.pdf utf8 S3 GPT4All", []string{"report", "pdf", "utf8", "s3", "gpt4all"}},
		{"हिन्दी", []string{"हिन्दी"}},
		{"_-_", nil},
		{"bad\xffutf", []string{"bad", "utf"}},
	}
	for _, test := range tests {
		if got := words(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"search", "searching", "searches", "searched"},
		{"translate", "translation", "translating", "translates"},
		{"recipe", "recipes"},
		{"flight", "flights"},
		{"running", "run", "runs"},
	} {
		want := string(retrieval.Stem(nil, []byte(same[0])))
		for _, w := range same {
			if got := string(retrieval.Stem(nil, []byte(w))); got != want {
				t.Errorf("%s: %s, but %s: %s", w, got, same[0], want)
			}
		}
	}
}

func TestBare(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][2]bool{
		"3": {true, false}, "2026": {true, false}, "٣": {true, false}, "x": {false, true}, "é": {false, true},
		"": {}, "s3": {}, "3d": {}, "ab": {}, "雨": {}, "天气": {}, "é3": {}, "٣a": {},
	} {
		if number, letter := retrieval.Bare([]byte(word)); number != want[0] || letter != want[1] {
			t.Errorf("%q: %v, %v", word, number, letter)
		}
	}
}
