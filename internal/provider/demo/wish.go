package demo

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/llm"
)

// help names what the script understands.
const help = `Try "calculate 2+2*10", "write notes.txt with hello", "read notes.txt", "list", "search hello" or "what time is it". ` +
	"For a model that thinks, set a key or start Ollama."

// wish is what the script makes of a message.
type wish struct {
	words string // said in the answer, before the results
	calls []llm.ToolCall
	// then is what follows the results so far, nil for nothing: more calls, in
	// one response, with words that go before them.
	then func(done []step) (words string, calls []llm.ToolCall)
	last bool // only the last result is repeated in the answer
	// brief says how much of each result is repeated in the answer, in bytes; 0 means maxShown.
	brief int
}

// pattern is one kind of wish, by the words of a message.
type pattern struct {
	re   *regexp.Regexp
	make func(m []string) wish
}

// patterns are tried in order; the first that fits counts.
var patterns = sync.OnceValue(func() []pattern {
	re := func(expr string) *regexp.Regexp { return regexp.MustCompile(`(?is)` + expr) }
	return []pattern{
		{re(`\bwrite\s+(?:a\s+file\s+)?["'` + "`" + `]?([\w./-]+\.\w+)["'` + "`" + `]?\s+(?:with|containing|that says)\s+(.+)$`), func(m []string) wish {
			return written(m[1], m[2])
		}},
		{re(`\bwrite\s+(.+?)\s+(?:to|into)\s+["'` + "`" + `]?([\w./-]+\.\w+)`), func(m []string) wish { return written(m[2], m[1]) }},
		{re(`\boverview\b`), func([]string) wish { return overview() }},
		{re(`\bin\s+(?:the\s+)?(?:file\s+)?["'` + "`" + `]?([\w./-]+\.csv)["'` + "`" + `]?[^"]*?\b(?:for|with|from|to)\s+["'` + "`" + `]?(\w+)`), func(m []string) wish {
			return searched(m[1], m[2])
		}},
		{re(`\b(?:delete|remove)\s+(?:the\s+)?(?:file\s+)?["'` + "`" + `]?([\w./-]*[\w-])["'` + "`" + `]?`), func(m []string) wish {
			return wish{words: "this is how it went.", calls: []llm.ToolCall{use("file_delete", "path", m[1])}}
		}},
		{re(`\b(?:read|show|open|cat)\s+(?:the\s+)?(?:file\s+)?["'` + "`" + `]?([\w./-]*[\w-])["'` + "`" + `]?`), func(m []string) wish {
			return wish{words: "here is the file.", calls: []llm.ToolCall{use("file_read", "path", m[1])}}
		}},
		{re(`\b(?:search|find|grep)\s+(?:for\s+)?["'` + "`" + `]?([^"'` + "`" + `?]+)`), func(m []string) wish {
			return wish{words: "here is where it stands.", calls: []llm.ToolCall{use("file_search", "query", strings.TrimSpace(m[1]))}}
		}},
		{re(`\b(?:calculate|calc|compute|what\s+is|what's|how\s+much\s+is)\s+([-+*/%^().\d\s]*\d[-+*/%^().\d\s]*)`), func(m []string) wish { return sum(m[1]) }},
		{re(`^\s*([-+(.\d][-+*/%^().\d\s]*[*/%^+-][-+*/%^().\d\s]*\d[)\s]*)=?\s*$`), func(m []string) wish { return sum(m[1]) }},
		{re(`\b(?:list|ls|files|folder|directory)\b`), func([]string) wish {
			return wish{words: "this is in the workspace.", calls: []llm.ToolCall{{Name: "file_list", Arguments: "{}"}}}
		}},
		{re(`\b(?:time|date|day|clock)\b`), func([]string) wish {
			return wish{words: "this is the time.", calls: []llm.ToolCall{{Name: "datetime", Arguments: "{}"}}}
		}},
	}
})

// recognise finds out what a message wants. The first message of a session
// shows what is there whatever it says.
func recognise(said string, first bool) wish {
	for _, p := range patterns() {
		if m := p.re.FindStringSubmatch(said); m != nil {
			return p.make(m)
		}
	}
	if first {
		return wish{
			words: "hello! I am a script that drives the real tools. This is what they found:",
			calls: []llm.ToolCall{{Name: "datetime", Arguments: "{}"}, {Name: "file_list", Arguments: "{}"}},
		}
	}
	return wish{words: "I only follow a script, and that is not in it. "}
}

// overview asks several tools in one response, so that they run side by side.
func overview() wish {
	return wish{
		words: "this is what all of them found, side by side:", brief: 200,
		calls: []llm.ToolCall{
			{Name: "file_list", Arguments: "{}"},
			use("file_search", "query", "TODO"),
			{Name: "datetime", Arguments: "{}"},
			use("calc", "expression", "52*40"),
		},
	}
}

// ref finds the name under which a large result is kept.
var ref = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bref:([0-9a-f]{8,})`) })

// searched reads a table and looks for a word in it; when the table is too
// large to be shown as a whole, in what was kept of it.
func searched(path, word string) wish {
	return wish{
		words: "the table was too large to be shown as a whole, so I asked for the rows that count:", brief: 600, last: true,
		calls: []llm.ToolCall{use("file_read", "path", path)},
		then: func(done []step) (string, []llm.ToolCall) {
			if len(done) != 1 || done[0].failed {
				return "", nil
			}
			m := ref().FindStringSubmatch(done[0].text)
			if m == nil {
				return "", nil
			}
			return "it is large and kept aside; looking into it.", []llm.ToolCall{
				use("read_output", "ref", m[1], "mode", "stats"),
				use("read_output", "ref", m[1], "mode", "search", "query", word),
			}
		},
	}
}

// written writes a file and reads it back.
func written(path, text string) wish {
	text = strings.Trim(strings.TrimSpace(text), "\"'`")
	return wish{
		words: "the file is written.",
		calls: []llm.ToolCall{use("file_write", "path", path, "content", text+"\n")},
		then: func(done []step) (string, []llm.ToolCall) {
			if len(done) != 1 || done[0].failed {
				return "", nil
			}
			return "done; now file_read checks it.", []llm.ToolCall{use("file_read", "path", path)}
		},
	}
}

func sum(expression string) wish {
	return wish{words: "this is the result.", calls: []llm.ToolCall{use("calc", "expression", strings.TrimSpace(expression))}}
}

// use is a call of the tool name with pairs of argument and value.
func use(name string, pairs ...string) llm.ToolCall {
	args := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic("demo: " + err.Error()) // a map of strings can always be encoded
	}
	return llm.ToolCall{Name: name, Arguments: string(b)}
}
