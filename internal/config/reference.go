package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

const referenceHead = `# Configuration

<!-- Made from the struct types of internal/config by its tests (go test ./internal/config -update). -->

GoClaw reads ` + "`config.yaml`" + ` in its home folder, ` + "`~/.goclaw`" + ` or what ` + "`GOCLAW_HOME`" + ` names. The file may hold
any part of what follows; a missing or empty file is valid, and null means not written. A key that is not
listed here, a wrong type or a value that is not allowed is an error with line and column.

` + "`goclaw config validate`" + ` checks the file, ` + "`goclaw config get KEY`" + ` and ` + "`goclaw config set KEY VALUE`" + ` read and write one
key and leave comments and all other lines as they are, ` + "`goclaw config schema`" + ` prints a JSON schema for editors.

- **Keys on the command line**: names joined by dots, entries of a list in brackets by id or index, names of
  your own in brackets when they hold other signs than letters, digits, ` + "`_`" + ` and ` + "`-`" + `:
  ` + "`agents.list[writer].tools.deny`" + `, ` + "`ai.providers.openai.prices[gpt-4.1].in`" + `.
- **Variables**: ` + "`${NAME}`" + ` in a value is replaced from the environment; a variable that is not set stands for
  nothing, with a warning. ` + "`$$`" + ` is a single ` + "`$`" + `. Keys are never expanded.
- **Secrets**: ` + "`secret:NAME`" + ` refers to a stored secret. Keys, tokens and headers are shown as ` + "`***`" + ` unless they are
  such a reference. Don't write them into the file; if you do, keep the file to yourself (mode 0600).
- **Overrides**: ` + "`GOCLAW_<KEY>`" + ` sets a key, read as YAML: ` + "`GOCLAW_GATEWAY_LISTEN`" + ` is ` + "`gateway.listen`" + `,
  ` + "`GOCLAW_AGENTS_LIST_WRITER_MODEL`" + ` is the model of the agent ` + "`writer`" + `. One that names a block replaces it. An empty
  variable is none, an unknown one is a warning. ` + "`GOCLAW_HOME`" + ` is the home folder, ` + "`GOCLAW_TOKEN`" + ` (at least 24
  characters) is accepted by the gateway as an admin's API token.
- **Durations** are written ` + "`30s`" + `, ` + "`1h30m`" + `, ` + "`7d`" + `, or as a number of seconds.
- **An agent's tools block**: a settings block that the agent writes (` + "`shell`" + `, ` + "`http`" + `, ` + "`rag`" + `, …) replaces the global one
  whole, and what it leaves out has the default listed here; the ` + "`deny`" + ` lists of ` + "`shell`" + ` and ` + "`http`" + ` add up. ` + "`profile`" + `,
  ` + "`allow`" + `, ` + "`also_allow`" + `, ` + "`deny`" + `, ` + "`by_provider`" + `, ` + "`by_sender`" + `, ` + "`subagents`" + `, ` + "`sandbox`" + ` and ` + "`pool`" + ` never replace the global ones: a tool has to
  pass both.

In the tables ` + "`[]`" + ` stands for an entry of a list and ` + "`*`" + ` for a name of your own.
`

// Reference is the manual page of all keys in Markdown: key, type, default and
// meaning. Equal builds give equal bytes.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)
	c := Default()
	m := metaOf(reflect.TypeFor[Config]())
	for i := range m.fields {
		f := &m.fields[i]
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", f.name, sentence(markdown.Replace(f.tag.Get("doc"))))
		b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
		referenceRows(&b, f.name, f, reflect.ValueOf(c).Elem().FieldByIndex(f.index))
	}
	return []byte(b.String())
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// referenceRows writes the row of a key and those of the keys in it.
func referenceRows(b *strings.Builder, key string, f *field, v reflect.Value) {
	t, path := entryOf(v.Type(), key)
	if shapeOf(t) != shapeStruct || path != key || v.Kind() == reflect.Pointer || f.is("own") {
		def := ""
		if d, ok := defaultOf(v, f); ok && !f.is("required") {
			raw, err := json.Marshal(d)
			if err != nil {
				panic("config: a default is no plain value: " + err.Error())
			}
			def = "`" + string(raw) + "`"
		}
		if f.is("required") {
			def = "required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", key, typeName(v.Type(), f), def, meaning(f))
	}
	// The block of an agent has the keys of the global one.
	if shapeOf(t) != shapeStruct || f.is("own") {
		return
	}
	if v.Type() != t {
		v = reflect.New(t).Elem()
		reset(v)
	}
	m := metaOf(t)
	for i := range m.fields {
		sub := &m.fields[i]
		referenceRows(b, path+"."+sub.name, sub, v.FieldByIndex(sub.index))
	}
}

// markdown escapes what would be taken for a column or for HTML.
var markdown = strings.NewReplacer("|", `\|`, "<", `\<`)

func meaning(f *field) string {
	s := markdown.Replace(f.tag.Get("doc"))
	allowed, ok := f.enum()
	if !ok {
		return s
	}
	for i, a := range allowed {
		if allowed[i] = "`" + a + "`"; a == "" {
			allowed[i] = "`\"\"`"
		}
	}
	return s + ": " + strings.Join(allowed, ", ")
}

func typeName(t reflect.Type, f *field) string {
	switch shapeOf(t) {
	case shapePointer:
		return typeName(t.Elem(), f) + " or null"
	case shapeList:
		return "list"
	case shapeMap:
		return "map"
	case shapeStruct:
		return "block"
	case shapeDuration:
		return "duration"
	case shapeBool:
		return "bool"
	case shapeInt:
		return "integer"
	case shapeFloat:
		return "number"
	case shapeAny:
		return "any"
	}
	return "text"
}
