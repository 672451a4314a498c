package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// shelf is a store of presets in memory.
type shelf struct {
	mu     sync.Mutex
	list   []preset.Preset
	broken error
	asked  int
}

func (s *shelf) Presets(context.Context) ([]preset.Preset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return slices.Clone(s.list), s.broken
}

func (s *shelf) Add(_ context.Context, p preset.Preset) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, p)
	return p.Check()
}

func (s *shelf) Approve(_ context.Context, toolName, name, by string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.list {
		if p.Tool == toolName && p.Name == name {
			s.list[i].ApprovedBy, s.list[i].Approved = by, at
		}
	}
	return nil
}

func (s *shelf) Remove(context.Context, string, string) error { return nil }

// book is a book with approved presets of db_query, from name, args pairs.
func book(t testing.TB, pairs ...string) *preset.Book {
	t.Helper()
	b := preset.NewBook(&shelf{}, slog.New(slog.DiscardHandler))
	for i := 0; i < len(pairs); i += 2 {
		err := errors.Join(b.Add(t.Context(), preset.Preset{Tool: "db_query", Name: pairs[i], Args: json.RawMessage(pairs[i+1])}),
			b.Approve(t.Context(), "db_query", pairs[i], "ann", time.Now()))
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func presets(b *preset.Book) option { return func(o *engine.Options) { o.Presets = b } }

type queryArgs struct {
	Datasource string `json:"datasource,omitempty"`
	SQL        string `json:"sql,omitempty"`
}

func databases() []tool.Tool {
	fail := func(_ context.Context, _ tool.Call, in queryArgs) (string, error) {
		if in.SQL == "select 1" {
			return "1", nil
		}
		return "", errors.New("no such column: totl")
	}
	return []tool.Tool{reading("db_query", fail), reading("db_schema", nothing), reading("other", fail), caller("script", tool.Traits{ReadOnly: true})}
}

func TestAFailureComesBackWithWhatMayFit(t *testing.T) {
	t.Parallel()
	shop := book(t,
		"revenue by month", `{"sql":"select month, sum(total) from orders group by month","datasource":"sales"}`,
		"people", `{"datasource":"hr","sql":"select name from staff"}`,
		"orders of a day", `{"datasource":"sales","sql":"select * from orders where day = ?"}`)
	if err := shop.Add(t.Context(), preset.Preset{Tool: "db_query", Name: "secret orders", Args: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	b := set(t, databases(), presets(shop))
	o := b.one("db_query", `{"datasource":"sales","sql":"select totl from orders by month"}`)
	got := text(o)
	for _, want := range []string{
		"no such column: totl", "[Hint: ", "(db_schema shows them)",
		`- revenue by month: {"datasource":"sales","sql":"select month, sum(total) from orders group by month"}`, "- orders of a day: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, never := range []string{"people", "secret"} {
		if strings.Contains(got, never) {
			t.Errorf("%q is in\n%s", never, got)
		}
	}
	if strings.Index(got, "revenue by month") > strings.Index(got, "orders of a day") {
		t.Errorf("the better match comes later:\n%s", got)
	}
	for name, args := range map[string]string{"other": `{"sql":"orders"}`, "db_query": `{"sql":"select 1"}`, "script": `{"calls":[{"tool":"db_query","args":{"sql":"orders"}}]}`} {
		if got := text(b.one(name, args)); strings.Contains(got, "Hint") {
			t.Errorf("%s is hinted at: %s", name, got)
		}
	}
	bare := set(t, databases()[:1])
	if got := text(bare.one("db_query", `{"sql":"x"}`)); !strings.Contains(got, "[Hint: ") || strings.Contains(got, "db_schema") || strings.Contains(got, "Approved") {
		t.Errorf("without presets and db_schema: %s", got)
	}
}

// described is what a request's model reads of db_query.
func (b *bench) described(message string) string {
	b.t.Helper()
	sf, err := b.Offer(b.t.Context(), tool.NewScope(b.scope), model, b.state, tool.Ask{Message: llm.UserMessage(message), Idle: b.idle})
	if err != nil {
		b.t.Fatal(err)
	}
	b.state = sf.State
	e, ok := tool.Find(sf.Offered, "db_query")
	if !ok {
		b.t.Fatal("db_query is not offered")
	}
	return e.Spec.Description
}

func TestDescriptionsListPresetsAsTheyAreStored(t *testing.T) {
	t.Parallel()
	b := set(t, databases(), presets(book(t, "zeta", `{"sql":"b", "datasource":"a"}`, "alpha", `{"sql":"c"}`)))
	first := b.described("alpha, please")
	if want := "\nApproved saved queries:\n- zeta: {\"datasource\":\"a\",\"sql\":\"b\"}\n- alpha: {\"sql\":\"c\"}\n"; first != want {
		t.Errorf("described as %q", first)
	}
	if again := b.described("something else"); again != first || len(b.state.Presets) > 0 {
		t.Errorf("then as %q", again)
	}
	if plain := set(t, databases(), presets(book(t))).described("x"); plain != "" {
		t.Errorf("without presets: %q", plain)
	}
}

func TestLongListsOfPresetsAreRankedOnceForASession(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range 60 {
		pairs = append(pairs, fmt.Sprintf("query %d about topic%d", i, i), fmt.Sprintf(`{"sql":"select %d from a_table_with_a_long_name"}`, i))
	}
	b := set(t, databases(), presets(book(t, pairs...)))
	first := b.described("tell me of topic42")
	if i := strings.Index(first, "- query"); !strings.HasPrefix(first[i:], "- query 42 about") || utf8.RuneCountInString(first) > preset.MaxListed+100 {
		t.Errorf("described in %d characters, first %.60q", utf8.RuneCountInString(first), first[i:])
	}
	for _, message := range []string{"and topic7?", "topic8", ""} {
		b.scope.Run += "x"
		if got := b.described(message); got != first {
			t.Fatalf("after %q the description changed to %.200q", message, got)
		}
	}
	b.state.Presets = nil // another session
	if got := b.described("topic7"); !strings.Contains(got[:60], "- query 7 about") {
		t.Errorf("a new list begins with %.80q", got)
	}
}

// A preset that is longer than the list may be takes no place, and that none
// fits holds as long as the session's list, too.
func TestAPresetThatIsTooLongEndsNoList(t *testing.T) {
	t.Parallel()
	long := fmt.Sprintf(`{"sql":%q}`, strings.Repeat("select long ", 200))
	b := set(t, databases(), presets(book(t, "topic of all", long, "topic", `{"sql":"select short"}`)))
	if got := b.described("topic of all, long"); !strings.Contains(got, "select short") || strings.Contains(got, "select long") {
		t.Errorf("described as %q", got)
	}
	shop := book(t, "one", long)
	b = set(t, databases(), presets(shop))
	if got := b.described("one"); got != "" {
		t.Errorf("described as %q", got)
	}
	raw, err := json.Marshal(b.state)
	if err == nil {
		b.state = tool.State{}
		err = json.Unmarshal(raw, &b.state)
	}
	if err = errors.Join(err, shop.Add(t.Context(), preset.Preset{Tool: "db_query", Name: "two", Args: json.RawMessage(`{"sql":"select short"}`)}),
		shop.Approve(t.Context(), "db_query", "two", "ann", time.Now())); err != nil {
		t.Fatal(err)
	}
	if got := b.described("two"); got != "" {
		t.Errorf("within the session's list it became %q", got)
	}
	b.state.Presets = nil
	if got := b.described("two"); !strings.Contains(got, "- two") {
		t.Errorf("with another list it is %q", got)
	}
	if got := text(b.one("db_query", `{"sql":"select long one two"}`)); !strings.Contains(got, "- two:") || strings.Contains(got, "- one:") {
		t.Errorf("hinted at by %q", got)
	}
}

// A run that declares its tools, or has a list of its own, shows what its message
// calls for and leaves the session's choice as it is.
func TestRunsApartLeaveTheSessionsPresets(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range 60 {
		pairs = append(pairs, fmt.Sprintf("query %d about topic%d", i, i), fmt.Sprintf(`{"sql":"select %d from a_table_with_a_long_name"}`, i))
	}
	b := set(t, databases(), presets(book(t, pairs...)))
	first := b.described("topic42")
	for _, apart := range []func(*tool.Facts){
		func(f *tool.Facts) { f.Declared = tool.Only("db_query") },
		func(f *tool.Facts) { f.Origin = tool.FromCron },
	} {
		facts := b.scope
		apart(&b.scope)
		b.scope.Run += "x"
		if got := b.described("topic7"); !strings.Contains(got[:60], "- query 7 about") {
			t.Errorf("apart it is %.80q", got)
		}
		b.scope = facts
		b.scope.Run += "y"
		if got := b.described("topic8"); got != first {
			t.Errorf("then %.80q", got)
		}
	}
}

// A store that can't be read is not asked for each tool.
func TestABrokenStoreOfPresetsIsLeftInPeace(t *testing.T) {
	t.Parallel()
	s := &shelf{broken: errors.New("locked")}
	b := set(t, databases(), presets(preset.NewBook(s, slog.New(slog.DiscardHandler))))
	b.described("x")
	if s.asked != 1 {
		t.Errorf("it was asked %d times", s.asked)
	}
}

// Where a session keeps a list, the choice goes with it.
func TestPresetsAreRankedAnewWithTheList(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range 60 {
		pairs = append(pairs, fmt.Sprintf("query %d about topic%d", i, i), fmt.Sprintf(`{"sql":"select %d from a_table_with_a_long_name"}`, i))
	}
	b := set(t, databases(), presets(book(t, pairs...)), func(o *engine.Options) {
		o.Selector = selection.New(selection.Options{Enabled: true, TopK: 12, Core: []string{"db_query"}})
	})
	first := b.described("topic42")
	b.scope.Run = "second"
	if got := b.described("topic7"); got != first {
		t.Errorf("in the second turn it is %.200q", got)
	}
	b.scope.Run, b.idle = "third", 2*time.Hour
	if got := b.described("topic7"); !strings.Contains(got[:60], "- query 7 about") {
		t.Errorf("a new list begins with %.80q", got)
	}
}

// A hint is still there when the results of a response were made to fit each
// other.
func TestHintsStandBehindShortenedFailures(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{reading("db_query", func(context.Context, tool.Call, none) (string, error) {
		return "", errors.New(strings.Repeat("no such column ", 500))
	})}, kept(blob.NewMemory()))
	shortened := 0
	for _, o := range b.run(t.Context(), repeat(9, call("db_query", "{}"))...) {
		if n := strings.Count(text(o), "[Hint: "); n != 1 || !strings.HasSuffix(text(o), "]") {
			t.Errorf("%d hints in %.100s…", n, text(o))
		}
		if o.Ref != "" {
			shortened++
		}
	}
	if shortened == 0 {
		t.Error("the test is of no use: nothing was shortened")
	}
}
