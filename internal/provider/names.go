package provider

import "github.com/goclaw/goclaw/internal/llm/wire"

// Names are what each vendor lets the name of a function be. A canonical name
// ([a-z][a-z0-9_]{0,63}) fits all of them but where it is reserved; [wire.Names]
// says how a vendor's package uses its rule.
var Names = map[string]*wire.NameRule{
	// "Must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum
	// length of 64."
	// https://platform.openai.com/docs/api-reference/chat/create
	"openai": {Max: 64, Others: "-"},

	// The same, as other servers that speak OpenAI's wire took it over. Alibaba's
	// keeps "search" for itself.
	// https://api-docs.deepseek.com/api/create-chat-completion
	// https://github.com/Aas-ee/open-webSearch/issues/21
	Compatible: {Max: 64, Others: "-", Reserved: []string{"search"}},

	// "Must match the regex ^[a-zA-Z0-9_-]{1,64}$."
	// https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
	"anthropic": {Max: 64, Others: "-"},

	// "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain
	// underscores, dots, colons and dashes"; the reference allows 128 of them, the
	// server's refusals speak of 64. A function that is named like the models' own
	// search is refused beside others.
	// https://ai.google.dev/api/caching#FunctionDeclaration
	// https://github.com/kaitranntt/ccs/issues/25
	// https://github.com/nicobailon/pi-web-access/issues/177
	"gemini": {Max: 64, Others: ".:-", Letter: true, Reserved: []string{"google_search", "web_search"}},

	// The server takes any name, but the prompt of some models is TypeScript: it
	// rewrites what is no identifier there, so that calls in the history would have
	// other names than the tools.
	// https://github.com/ollama/ollama/blob/v0.17.4/harmony/harmonyparser.go
	"ollama": {Max: 64, Letter: true},
}
