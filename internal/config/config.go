// Package config owns the file config.yaml: its keys, reading and checking it,
// saying where each value was written, editing it, and choosing the provider
// that it and the environment ask for. It alone reads the environment.
//
// Life: [FromEnviron] takes the environment, [HomeDir] finds the home folder,
// [Load] reads <home>/config.yaml into a [Config] that is complete (defaults
// and GOCLAW_ variables included) and never changes afterwards, so that it may
// be shared between goroutines. A Config holds no resources and needs no
// closing. Whoever keeps running calls [Config.KeepLastGood] after a good
// start and [LoadOrLastGood] at the next one; a reload that fails leaves the
// Config that is in use as it is.
//
// The struct types are the one description of the file: the decoder, the check
// for unknown keys, the names of GOCLAW_ variables, [Schema] and [Reference]
// all walk them through meta.go. A new key is a new field with its yaml name
// and a doc tag, and a line in setDefaults when its default is not zero.
//
// Start reading at [Config], then load.go and decode.go; edit.go stands alone.
package config

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// Config is the content of config.yaml with defaults filled in and
// GOCLAW_ variables applied. It is read-only after [Load].
//
// A nil list or pointer was not written (or written as null); an empty list
// was written empty. The two differ where a field says so.
type Config struct {
	Version     int                `yaml:"version" doc:"format of the file" min:"1" is:"noenv"`
	AI          AI                 `yaml:"ai" doc:"model providers"`
	AgentBlock  AgentBlock         `yaml:"agents" doc:"the agents" is:"late"`
	Tools       Tools              `yaml:"tools" doc:"tools: who may use which, and their settings"`
	Datasources []Datasource       `yaml:"datasources" doc:"databases that db_query and db_write know"`
	Secrets     Secrets            `yaml:"secrets" doc:"where secrets may go"`
	Skills      Skills             `yaml:"skills" doc:"skills in the prompt"`
	Subagents   Subagents          `yaml:"subagents" doc:"bounds of subagents"`
	Memory      Memory             `yaml:"memory" doc:"what is remembered and who may teach"`
	Cache       Cache              `yaml:"cache" doc:"caches of tool results and model answers"`
	Outputs     Outputs            `yaml:"outputs" doc:"large results kept aside"`
	Sessions    Sessions           `yaml:"sessions" doc:"conversations"`
	Budget      Budget             `yaml:"budget" doc:"limits on tokens and money"`
	Hooks       []Hook             `yaml:"hooks" doc:"rules on tool calls"`
	Plugins     map[string]any     `yaml:"plugins" doc:"settings and approvals of plugins, by plugin id"`
	MCP         MCP                `yaml:"mcp" doc:"MCP servers"`
	Routes      []Route            `yaml:"routes" doc:"which agent answers where; the most specific entry wins"`
	Channels    map[string]Channel `yaml:"channels" doc:"chat channels, by name"`
	Webhooks    map[string]Webhook `yaml:"webhooks" doc:"incoming webhooks, by route: POST /hooks/<route>"`
	Cron        []Cron             `yaml:"cron" doc:"schedules"`
	SOPs        SOPs               `yaml:"sops" doc:"standard operating procedures"`
	Pages       Pages              `yaml:"pages" doc:"pages that agents publish"`
	State       State              `yaml:"state" doc:"the state database"`
	Gateway     Gateway            `yaml:"gateway" doc:"the HTTP gateway"`
	Telemetry   Telemetry          `yaml:"telemetry" doc:"traces and metrics for other systems"`
	Log         Log                `yaml:"log" doc:"the log"`

	// Home is the absolute path of the home folder.
	Home string `yaml:"-"`
	// File is the path that was read, or would have been had it existed.
	File string `yaml:"-"`
	// Warnings are what should be looked at and stops nothing.
	Warnings []Fault `yaml:"-"`
	// Notice says, when it is not empty, that this is the last good
	// configuration because the file itself could not be used, and why.
	Notice string `yaml:"-"`

	// literal is where the first secret stands in the file itself.
	literal source.Pos
	raw     []byte
	digest  string // see [Config.Digest]
	root    *yaml.Node
	env     map[*yaml.Node]string
	environ Environ
}

// Default is the configuration of an empty file in no particular home.
func Default() *Config {
	c := new(Config)
	c.setDefaults()
	return c
}

func (c *Config) setDefaults() {
	c.Version = Version
	c.AI.setDefaults()
	c.Tools.setDefaults()
	c.Skills.setDefaults()
	c.Subagents.setDefaults()
	c.Memory.setDefaults()
	c.Cache.setDefaults()
	c.Outputs.setDefaults()
	c.Sessions.setDefaults()
	c.Gateway.setDefaults()
	c.Telemetry.setDefaults()
	c.Log.setDefaults()
}

// Version is the newest format of the file that this build reads.
const Version = 1

// Skills bounds what skills may take of a prompt.
type Skills struct {
	MaxInPrompt    int `yaml:"max_in_prompt" doc:"skills in one prompt" min:"0"`
	MaxPromptChars int `yaml:"max_prompt_chars" doc:"characters of all skills in one prompt" min:"0"`
}

func (s *Skills) setDefaults() { *s = Skills{MaxInPrompt: 6, MaxPromptChars: 24000} }

// Subagents bounds the runs that runs start.
type Subagents struct {
	Limits SubagentLimits `yaml:"limits" doc:"bounds"`
}

func (s *Subagents) setDefaults() { s.Limits.setDefaults() }

// SubagentLimits are the bounds of [Subagents].
type SubagentLimits struct {
	Depth    int           `yaml:"depth" doc:"how deep subagents may start subagents" min:"0"`
	Children int           `yaml:"children" doc:"subagents of one run at once" min:"0"`
	Timeout  time.Duration `yaml:"timeout" doc:"time limit of one" is:"positive"`
}

func (l *SubagentLimits) setDefaults() {
	*l = SubagentLimits{Depth: 2, Children: 8, Timeout: 15 * time.Minute}
}

// Memory is what agents remember. An agent's own block replaces it whole.
type Memory struct {
	ContextBudgetChars int        `yaml:"context_budget_chars" doc:"characters of the session context" min:"0"`
	WriteAccess        []string   `yaml:"write_access" doc:"people, besides admins, who may write agent_notes, global and agent_config"`
	Learn              string     `yaml:"learn" doc:"lessons from runs: not at all, for an admin to approve, or at once" enum:"off|propose|auto"`
	AdminSeesPersonal  bool       `yaml:"admin_sees_personal" doc:"admins may read the personal records of others"`
	Embeddings         Embeddings `yaml:"embeddings" doc:"search by meaning; off when empty"`
}

func (m *Memory) setDefaults() { *m = Memory{ContextBudgetChars: 12000, Learn: "propose"} }

// Embeddings names the model that turns text into vectors.
type Embeddings struct {
	Provider string `yaml:"provider" doc:"name of a provider under ai.providers"`
	Model    string `yaml:"model" doc:"embedding model; the provider's usual one when empty"`
}

// Cache switches the caches. Both Enabled and LLM.Enabled must be true for
// model answers to be cached.
type Cache struct {
	Enabled bool      `yaml:"enabled" doc:"all caches"`
	LLM     LLMCache  `yaml:"llm_cache" doc:"cache of model answers"`
	Tools   ToolCache `yaml:"tools" doc:"cache of tool results"`
}

func (c *Cache) setDefaults() {
	c.Enabled = true
	c.LLM.setDefaults()
	c.Tools.setDefaults()
}

// LLMCache is the cache of model answers.
type LLMCache struct {
	Enabled bool          `yaml:"enabled" doc:"cache first answers of requests without tools"`
	TTL     time.Duration `yaml:"ttl" doc:"how long an answer is kept; not at all when 0; a bare number is seconds"`
}

func (c *LLMCache) setDefaults() { *c = LLMCache{Enabled: true, TTL: 300 * time.Second} }

// ToolCache is the cache of tool results.
type ToolCache struct {
	Size int           `yaml:"size" doc:"results kept at most" min:"0"`
	TTL  time.Duration `yaml:"ttl" doc:"how long a result is kept; a bare number is seconds"`
}

func (c *ToolCache) setDefaults() { *c = ToolCache{Size: 1000, TTL: 60 * time.Second} }

// Outputs bounds the large results that are kept aside under a ref.
type Outputs struct {
	TTL          time.Duration `yaml:"ttl" doc:"how long a ref is valid" is:"positive"`
	MaxEntries   int           `yaml:"max_entries" doc:"results kept at most; the oldest makes room" min:"1"`
	MaxBytes     int64         `yaml:"max_bytes" doc:"bytes kept at most" min:"1"`
	PreviewChars int           `yaml:"preview_chars" doc:"characters of the preview that the model is shown" min:"1"`
}

func (o *Outputs) setDefaults() {
	*o = Outputs{TTL: time.Hour, MaxEntries: 200, MaxBytes: 256 << 20, PreviewChars: 4000}
}

// Sessions says how conversations behave.
type Sessions struct {
	WhileBusy string `yaml:"while_busy" doc:"what a message does that arrives while the session's run is going: wait, join the run, or stop it" enum:"queue|steer|interrupt"`
}

func (s *Sessions) setDefaults() { s.WhileBusy = "queue" }

// Budget limits what runs may use. A nil amount is no limit.
type Budget struct {
	Run     *Amount `yaml:"run" doc:"of one run"`
	Session *Amount `yaml:"session" doc:"of one session, whenever its runs are"`
	Day     *Amount `yaml:"day" doc:"of one day of UTC, by all agents together; an agent's own by that agent"`
}

// Amount is a limit on tokens and on US dollars; zero is no limit.
type Amount struct {
	Tokens int64   `yaml:"tokens" doc:"tokens in and out; 0 is no limit" min:"0" max:"1000000000000"`
	USD    float64 `yaml:"usd" doc:"US dollars; 0 is no limit" min:"0" max:"1000000000"`
}

// Pages are HTML pages that agents publish.
type Pages struct {
	Persist bool     `yaml:"persist" doc:"keep pages over a restart"`
	CDN     []string `yaml:"cdn" doc:"more hosts that pages may load scripts and styles from"`
}

// State is the state database.
type State struct {
	DSN string `yaml:"dsn" doc:"SQLite at <home>/state.db when empty; postgres://... for many nodes" is:"secret"`
}

// Gateway is the HTTP server.
type Gateway struct {
	Listen    string   `yaml:"listen" doc:"address and port" format:"hostport"`
	PublicURL string   `yaml:"public_url" doc:"how people reach the gateway, when not at its address" format:"url"`
	CORS      []string `yaml:"cors" doc:"origins of other sites that may call the API; none when empty"`
}

func (g *Gateway) setDefaults() { g.Listen = "127.0.0.1:18800" }

// Telemetry is what other systems are told.
type Telemetry struct {
	OTLPEndpoint string `yaml:"otlp_endpoint" doc:"where traces are sent; nowhere when empty" format:"url"`
	Metrics      bool   `yaml:"metrics" doc:"serve /metrics"`
}

func (t *Telemetry) setDefaults() { t.Metrics = true }

// Log is the log on standard error.
type Log struct {
	Level  string `yaml:"level" doc:"the least that is logged" enum:"debug|info|warn|error"`
	Format string `yaml:"format" doc:"for people or for machines" enum:"text|json"`
}

func (l *Log) setDefaults() { *l = Log{Level: "info", Format: "text"} }
