package config

import "time"

// AI is where models come from.
type AI struct {
	Provider  string              `yaml:"provider" doc:"the provider to use: openai, claude, gemini, gemini-legacy, deepseek, ollama, demo or a name under providers; when empty the keys found in the environment decide, and openai when nothing does"`
	Fallback  []string            `yaml:"fallback" doc:"where a request goes when the provider fails, as provider or provider/model, in order"`
	Providers map[string]Provider `yaml:"providers" doc:"settings per provider: the built-in ones and names of your own"`
}

// setDefaults lists the built-in providers, so that each has its settings
// whether or not the file mentions it.
func (a *AI) setDefaults() {
	a.Providers = make(map[string]Provider, len(builtins))
	for _, b := range builtins {
		p := Provider{Type: b.name}
		p.setDefaults()
		if b.keyVar != "" {
			p.APIKey = "${" + b.keyVar + "}"
		}
		a.Providers[b.name] = p
	}
}

// Provider is the settings of one provider.
type Provider struct {
	Type             string            `yaml:"type" doc:"which wire format it speaks; a built-in name implies its own, any other openai-compatible" enum:"openai|claude|gemini|gemini-legacy|deepseek|ollama|demo|openai-compatible"`
	APIKey           string            `yaml:"api_key" doc:"key, ${VARIABLE} or secret:NAME; ${OPENAI_API_KEY}, ${ANTHROPIC_API_KEY}, ${GEMINI_API_KEY} and ${DEEPSEEK_API_KEY} for the built-in providers" is:"secret"`
	BaseURL          string            `yaml:"base_url" doc:"address of the API; the provider's own when empty" format:"url"`
	Model            string            `yaml:"model" doc:"model; the shipped default for the provider when empty"`
	ContextWindow    int               `yaml:"context_window" doc:"tokens; what Ollama says of the model, else from the model table, when 0" min:"0"`
	MaxOutputTokens  int               `yaml:"max_output_tokens" doc:"tokens of one answer; from the model table when 0" min:"0"`
	Images           *bool             `yaml:"images" doc:"whether its models are shown images; what the server or the model table says when null, and it is tried where neither knows the model"`
	Files            *bool             `yaml:"files" doc:"whether its models are given PDF files; what the server or the model table says when null"`
	Tools            *bool             `yaml:"tools" doc:"whether its models are offered tools; what the server or the model table says when null, and it is tried where neither knows the model"`
	Temperature      *float64          `yaml:"temperature" doc:"the model's own when null" min:"0" max:"2"`
	Reasoning        string            `yaml:"reasoning" doc:"how much the model thinks first, where it can" enum:"|off|low|medium|high"`
	Timeout          time.Duration     `yaml:"timeout" doc:"time limit of one model call" is:"positive"`
	FirstByteTimeout time.Duration     `yaml:"first_byte_timeout" doc:"time limit until the first byte" is:"positive"`
	IdleTimeout      time.Duration     `yaml:"idle_timeout" doc:"time limit between two bytes" is:"positive"`
	ExtraHeaders     map[string]string `yaml:"extra_headers" doc:"headers sent with each request" is:"secret,loose"`
	Proxy            string            `yaml:"proxy" doc:"proxy to the API; proxy variables of the environment are ignored" format:"url" is:"secret"`
	Prices           map[string]Price  `yaml:"prices" doc:"prices per model, over those of the model table"`
}

func (p *Provider) setDefaults() {
	p.Timeout = 10 * time.Minute
	p.FirstByteTimeout = 60 * time.Second
	p.IdleTimeout = 60 * time.Second
}

// Price is in US dollars per million tokens.
type Price struct {
	In         float64  `yaml:"in" doc:"USD per million tokens sent" min:"0"`
	Cached     *float64 `yaml:"cached" doc:"USD per million tokens found in the provider's cache; as sent when null" min:"0"`
	CacheWrite *float64 `yaml:"cache_write" doc:"USD per million tokens written to the provider's cache; as sent when null" min:"0"`
	Out        float64  `yaml:"out" doc:"USD per million tokens answered" min:"0"`
}
