package openai

import (
	"net/url"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/provider/openai/responses"
)

// dialect is how a server and one of its models differ from what OpenAI
// documents: known by the address or the type, or learned from a refusal.
type dialect struct {
	official bool // OpenAI's own servers
	fronts   bool // configured as OpenAI, at whatever address: a proxy or a gateway
	deepseek bool // DeepSeek's wire, whoever serves it
	own      bool // and DeepSeek's own servers
	mistral  bool
	api      api
	// vendor marks opaque data, which goes back to the server that made it alone.
	vendor  string
	learned refusals
}

// api is which of OpenAI's two APIs the configuration names.
type api uint8

const (
	eitherAPI api = iota
	chatOnly
	responsesOnly
)

// refusals are the things that a server said it doesn't take, or wants.
type refusals uint32

const (
	refusedUsage       refusals = 1 << iota // stream_options
	refusedTemperature                      // temperature
	refusedEffort                           // reasoning_effort
	refusedThinking                         // tools beside any effort but "none"
	refusedTokens                           // the name of the output limit that was sent
	refusedChoice                           // tool_choice
	refusedReasoning                        // a reply that brings its reasoning back
	wantsReasoning                          // replies have to bring theirs back
	refusedNull                             // no content beside calls
	wantsShortIDs                           // ids of calls have nine letters and digits
	wantsReplies                            // a person doesn't speak behind results

	wantsResponses    // the model is behind the Responses API
	toolsInResponses  // it takes tools there, or beside no reasoning
	refusedResponses  // the server has no such API
	refusedSummaries  // what a model thinks is not shown
	refusedEncryption // nor given out sealed
)

func (d dialect) refuses(r refusals) bool { return d.learned&r != 0 }

// newDialect decides by the provider's type and address.
func newDialect(s provider.Settings) dialect {
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return dialect{}
	}
	host := strings.ToLower(u.Hostname())
	d := dialect{
		official: provider.OwnServer(s.BaseURL),
		fronts:   s.Type == "openai",
		own:      host == "api.deepseek.com",
		mistral:  host == "mistral.ai" || strings.HasSuffix(host, ".mistral.ai"),
		vendor:   strings.ToLower(u.Host),
	}
	d.deepseek = d.own || s.Type == "deepseek"
	if d.official && !strings.HasSuffix(host, ".azure.com") { // where each resource is a world of its own
		d.vendor = "openai"
	}
	d.api = endpointOf(s.BaseURL).api
	return d
}

// endpoint is what an address says.
type endpoint struct {
	base  string     // before the path of either API
	query url.Values // which goes with every request
	api   api
	// azure says that it is one of Azure's older addresses.
	azure bool
}

// endpointOf takes the name of one of the two APIs off an address that ends with
// it, as many write it down: then the configuration has decided.
func endpointOf(address string) endpoint {
	u, err := url.Parse(address)
	if err != nil {
		return endpoint{base: address} // safehttp has refused it
	}
	e := endpoint{query: u.Query()}
	e.azure = strings.HasSuffix(strings.ToLower(u.Hostname()), ".azure.com") && e.query.Has("api-version")
	e.base, _, _ = strings.Cut(address, "?")
	e.base = strings.TrimRight(e.base, "/")
	if rest, ok := strings.CutSuffix(e.base, "/"+chatPath); ok {
		e.base, e.api = rest, chatOnly
	} else if rest, ok := strings.CutSuffix(e.base, "/"+responses.Path); ok {
		e.base, e.api = rest, responsesOnly
	}
	return e
}

// keyHeader is where Azure's older addresses want the key.
// https://learn.microsoft.com/azure/ai-foundry/openai/reference#authentication
const keyHeader = "Api-Key"

// chatPath is where Chat Completions is, behind the address of a server.
const chatPath = "chat/completions"

// openAIs says whether OpenAI's rules hold for a model: at its own servers they
// do for all, and behind a proxy for those that are known to be OpenAI's.
func (d dialect) openAIs(known provider.Model) bool {
	return d.official || d.fronts && known.Maker == "openai"
}

// responses decides which of OpenAI's two APIs a request takes: true for
// Responses. Chat Completions is what nearly all servers speak; the other is
// for models that reason and call tools only there, at OpenAI itself, at what
// is configured as that, and where a server said so. A proxy that has no such
// API says that, and is asked in the other one from then on.
func (d dialect) responses(req *llm.Request, known provider.Model) bool {
	reasons := req.Reasoning != "off" || known.Name != "" && !slices.Contains(known.Effort, "none")
	switch {
	case d.api != eitherAPI:
		return d.api == responsesOnly
	case d.refuses(refusedResponses):
		return false
	case d.refuses(wantsResponses):
		return true
	case len(req.Tools) == 0:
		return false
	case d.refuses(toolsInResponses):
		return reasons
	}
	return d.openAIs(known) && known.Direct && reasons
}

// names is what the server lets the name of a function be.
func (d dialect) names() *wire.NameRule {
	if d.official {
		return provider.Names["openai"]
	}
	return provider.Names[provider.Compatible]
}

// completionTokens says which of the two names the output limit goes by.
func (d dialect) completionTokens(known provider.Model) bool {
	return d.openAIs(known) != d.refuses(refusedTokens)
}

// echoes says whether replies go back with the text of their reasoning. They
// don't unless the server insists: DeepSeek's own does beside tools, unless the
// model was told not to think ("the reasoning_content of all previous turns
// should be passed back", https://api-docs.deepseek.com/guides/thinking_mode),
// others do by their refusal.
func (d dialect) echoes(req *llm.Request) bool {
	switch {
	case d.refuses(refusedReasoning), d.deepseek && req.Reasoning == "off":
		return false
	case d.refuses(wantsReasoning):
		return true
	}
	return d.own && len(req.Tools) > 0
}

// shortIDs says whether the ids of calls have to be of Mistral's form.
func (d dialect) shortIDs() bool { return d.mistral || d.refuses(wantsShortIDs) }

// replies says whether a reply has to stand between results and a person's
// words, as Mistral's have it.
func (d dialect) replies() bool { return d.mistral || d.refuses(wantsReplies) }

// effort is the value of reasoning_effort, "" to send none. A model of the
// table gets the nearest value that it takes; a model that is not in it gets
// what was asked for.
func (d dialect) effort(req *llm.Request, known provider.Model, via bool) string {
	if direct := d.openAIs(known) && known.Direct || d.refuses(refusedThinking|toolsInResponses); direct && !via && len(req.Tools) > 0 {
		return "none"
	}
	if req.Reasoning == "" || d.refuses(refusedEffort) {
		return ""
	}
	want := req.Reasoning
	if want == "off" {
		if d.deepseek {
			return "" // it has a switch of its own
		}
		want = "none"
	}
	if known.Name == "" {
		return want
	}
	return known.NearestEffort(want)
}

// form is how a request is put to the Responses API.
func (d dialect) form(req *llm.Request, known provider.Model, bare bool) responses.Form {
	f := responses.Form{Model: req.Target.Model, Vendor: d.vendor, Names: d.names(), MaxOutput: req.MaxOutput, Bare: bare}
	f.Effort = d.effort(req, known, true)
	reasons := known.Name == "" || len(known.Effort) > 0
	f.Summary = reasons && !d.refuses(refusedSummaries|refusedEffort)
	f.Sealed = reasons && !d.refuses(refusedEncryption)
	if d.tempered(req, known, f.Effort) {
		f.Temperature, f.Tempered = *req.Temperature, true
	}
	return f
}

// tempered says whether the temperature goes along, beside an effort. Some of
// OpenAI's models take none, and those that needn't reason only while they
// don't. https://platform.openai.com/docs/guides/latest-model
func (d dialect) tempered(req *llm.Request, known provider.Model, effort string) bool {
	switch {
	case req.Temperature == nil || d.refuses(refusedTemperature):
		return false
	case !d.openAIs(known) || len(known.Effort) == 0:
		return true
	}
	return !known.OwnTemperature && (effort == "" || effort == "none")
}
