package config

import (
	"time"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/lib/source"
)

// Rule narrows the tools that may be used. Names may be tools, globs and
// groups (group:fs, plugin:<id>, mcp:<server>); each remembers where it was
// written. An absent and an empty Allow alike restrict nothing.
type Rule struct {
	Profile   source.Text   `yaml:"profile" doc:"a named set of tools to begin with" enum:"|full|coding|messaging|minimal"`
	Allow     []source.Text `yaml:"allow" doc:"only these; absent or empty restricts nothing"`
	AlsoAllow []source.Text `yaml:"also_allow" doc:"adds to the profile and names optional tools; restricts nothing"`
	Deny      []source.Text `yaml:"deny" doc:"none of these"`
}

// Policy is a [Rule] with rules for some providers and some senders. The
// global policy and an agent's are not merged: a tool has to pass both.
type Policy struct {
	Rule
	ByProvider map[string]Rule `yaml:"by_provider" doc:"more rules while the request goes to this provider or provider/model"`
	BySender   map[string]Rule `yaml:"by_sender" doc:"more rules for a person, as id or channel:id; * is everybody, also who has an entry"`
}

// Lists is a rule without a profile, for runs of one kind.
type Lists struct {
	Allow []source.Text `yaml:"allow" doc:"only these; absent or empty restricts nothing"`
	Deny  []source.Text `yaml:"deny" doc:"none of these"`
}

// Tools is the block tools. In [Config] it holds the global settings and
// policy; in an [Agent] the settings are the agent's merged ones (a block that
// the agent writes replaces the global block whole, what it leaves out has the
// built-in default, and the deny lists of shell and http add up), while
// Policy, Subagents, Sandbox are the agent's own alone, to be applied after
// the global ones. Pool is the process's in Config; an agent may only ask for
// less.
type Tools struct {
	Mode string `yaml:"mode" doc:"which AGENTS.md is seeded; same as profile when empty" enum:"|full|coding|messaging|minimal"`
	Policy
	Subagents         Lists         `yaml:"subagents" doc:"more rules inside subagents"`
	Sandbox           Lists         `yaml:"sandbox" doc:"more rules inside a sandbox"`
	Core              []string      `yaml:"core" doc:"more tools that are offered whatever selection says"`
	MaxToolIterations int           `yaml:"max_tool_iterations" doc:"model calls with tools in one turn" min:"1"`
	MaxResultChars    int           `yaml:"max_result_chars" doc:"characters of one result before it is kept aside" min:"1"`
	MaxStepChars      int           `yaml:"max_step_chars" doc:"characters of all results of one model call" min:"1"`
	MaxDBWriteRows    int           `yaml:"max_db_write_rows" doc:"rows that one db_write may change" min:"0"`
	Pool              Pool          `yaml:"pool" doc:"workers for tool calls, shared by the process"`
	Timeout           time.Duration `yaml:"timeout" doc:"time limit of a tool that has none of its own" is:"positive"`
	LoopGuard         LoopGuard     `yaml:"loop_guard" doc:"same call, same arguments, same result, in a row"`
	ApprovalTimeout   time.Duration `yaml:"approval_timeout" doc:"no answer within this is a no" is:"positive"`
	RAG               RAG           `yaml:"rag" doc:"which tools a request is shown"`
	Shell             Shell         `yaml:"shell" doc:"the shell tool"`
	HTTP              HTTP          `yaml:"http" doc:"where tools may connect to"`
	WebSearch         WebSearch     `yaml:"web_search" doc:"the web_search tool"`
	Browser           Browser       `yaml:"browser" doc:"the browser tool"`
	Code              Code          `yaml:"code" doc:"the code_run tool"`
	Git               Git           `yaml:"git" doc:"the git tool"`
	GitLab            GitLab        `yaml:"gitlab" doc:"the gitlab tool"`
	SonarQube         SonarQube     `yaml:"sonarqube" doc:"the sonarqube tool"`
	Observability     Observability `yaml:"observability" doc:"the observability tool"`
}

func (t *Tools) setDefaults() {
	*t = Tools{
		MaxToolIterations: 20,
		MaxResultChars:    8000,
		MaxStepChars:      32000,
		MaxDBWriteRows:    100,
		Timeout:           2 * time.Minute,
		ApprovalTimeout:   5 * time.Minute,
	}
	t.Profile = source.Text{Value: "full", Pos: source.Pos{Key: "tools.profile"}}
	t.Pool.setDefaults()
	t.LoopGuard.setDefaults()
	t.RAG.setDefaults()
	t.Shell.setDefaults()
	t.HTTP.setDefaults()
	t.Browser.setDefaults()
	t.Code.setDefaults()
}

// own gives the global settings for an agent to begin with, without what is
// never merged.
func (t Tools) own() Tools {
	t.Policy, t.Subagents, t.Sandbox = Policy{}, Lists{}, Lists{}
	return t
}

// Pool sizes the worker pool.
type Pool struct {
	Workers int `yaml:"workers" doc:"calls that run at once; while they do, people who have none running have as many spare workers" min:"1" max:"1024"`
	Queue   int `yaml:"queue" doc:"calls that wait; a full queue makes the caller wait" min:"0" max:"65536"`
}

func (p *Pool) setDefaults() { *p = Pool{Workers: 8, Queue: 64} }

// LoopGuard ends runs that repeat themselves.
type LoopGuard struct {
	Hint int `yaml:"hint" doc:"repetitions after which the model is told; 0 is never" min:"0"`
	Stop int `yaml:"stop" doc:"repetitions after which the run ends; 0 is never" min:"0"`
}

func (g *LoopGuard) setDefaults() { *g = LoopGuard{Hint: 3, Stop: 5} }

// RAG is the selection of tools for a request.
type RAG struct {
	Enabled               bool       `yaml:"enabled" doc:"show only what a message needs; else all that is permitted"`
	TopK                  int        `yaml:"top_k" doc:"tools picked by score" min:"0"`
	UsagePrior            int        `yaml:"usage_prior" doc:"most used tools of the last 30 days that are added; 0 is off" min:"0"`
	Semantic              bool       `yaml:"semantic" doc:"pick by meaning as well"`
	SemanticTopK          int        `yaml:"semantic_top_k" doc:"tools added by meaning" min:"0"`
	SemanticMinSimilarity float64    `yaml:"semantic_min_similarity" doc:"least similarity of those" min:"0" max:"1"`
	Embeddings            Embeddings `yaml:"embeddings" doc:"model for semantic"`
}

func (r *RAG) setDefaults() {
	*r = RAG{Enabled: true, TopK: 12, UsagePrior: 6, SemanticTopK: 4, SemanticMinSimilarity: 0.35}
}

// Shell is the shell tool.
type Shell struct {
	Allow   []source.Text `yaml:"allow" doc:"command prefixes, whole words; empty is no shell at all"`
	Deny    []source.Text `yaml:"deny" doc:"command patterns refused besides the built-in ones"`
	Network bool          `yaml:"network" doc:"commands may use the network"`
	Timeout time.Duration `yaml:"timeout" doc:"time limit of one command" is:"positive"`
}

func (s *Shell) setDefaults() { s.Timeout = 60 * time.Second }

// HTTP says where tools, hooks and pages may connect to.
type HTTP struct {
	Default      string        `yaml:"default" doc:"for hosts in no list" enum:"deny|allow"`
	Allow        []source.Text `yaml:"allow" doc:"hosts: exact, *.domain, host:port or CIDR"`
	Deny         []source.Text `yaml:"deny" doc:"hosts that are refused even if allowed"`
	AllowPrivate []source.Text `yaml:"allow_private" doc:"private networks that may be reached"`
	Methods      []source.Text `yaml:"methods" doc:"HTTP methods"`
	MaxBodyBytes int64         `yaml:"max_body_bytes" doc:"bytes of an answer" min:"0"`
	Timeout      time.Duration `yaml:"timeout" doc:"time limit of one request" is:"positive"`

	Pos source.Pos `yaml:"-"` // of the block; zero when it is not written
}

// Rules are h as the guard has them that requests are held to.
func (h *HTTP) Rules() safehttp.Rules {
	return safehttp.Rules{Open: h.Default == "allow", Allow: h.Allow, Deny: h.Deny, AllowPrivate: h.AllowPrivate, Methods: h.Methods, Where: h.Pos}
}

func (h *HTTP) setDefaults() {
	*h = HTTP{
		Default:      "deny",
		Methods:      []source.Text{{Value: "GET"}, {Value: "HEAD"}, {Value: "POST"}, {Value: "PUT"}, {Value: "PATCH"}, {Value: "DELETE"}},
		MaxBodyBytes: 5 << 20,
		Timeout:      30 * time.Second,
	}
}

// WebSearch is the web_search tool.
type WebSearch struct {
	Backend string `yaml:"backend" doc:"who searches; nobody when empty" enum:"|searxng|brave|tavily"`
	URL     string `yaml:"url" doc:"address of the back end" format:"url"`
	APIKey  string `yaml:"api_key" doc:"key, ${VARIABLE} or secret:NAME" is:"secret"`
}

// Browser is the browser tool.
type Browser struct {
	Path    string        `yaml:"path" doc:"program; found on the PATH when empty"`
	Timeout time.Duration `yaml:"timeout" doc:"time limit of one call" is:"positive"`
}

func (b *Browser) setDefaults() { b.Timeout = 60 * time.Second }

// Code is the code_run tool.
type Code struct {
	Timeout     time.Duration `yaml:"timeout" doc:"time limit of one script" is:"positive"`
	MemoryBytes int64         `yaml:"memory_bytes" doc:"memory of one script" min:"1"`
	Runtime     string        `yaml:"runtime" doc:"where scripts run" enum:"auto|docker"`
}

func (c *Code) setDefaults() {
	*c = Code{Timeout: 20 * time.Second, MemoryBytes: 256 << 20, Runtime: "auto"}
}

// Git is the git tool, which has no settings yet.
type Git struct{}

// GitLab is the gitlab tool.
type GitLab struct {
	BaseURL  string   `yaml:"base_url" doc:"address of the server" format:"url"`
	Token    string   `yaml:"token" doc:"token, ${VARIABLE} or secret:NAME" is:"secret"`
	Projects []string `yaml:"projects" doc:"projects that may be used; all that the token sees when empty"`
}

// SonarQube is the sonarqube tool.
type SonarQube struct {
	BaseURL string `yaml:"base_url" doc:"address of the server" format:"url"`
	Token   string `yaml:"token" doc:"token, ${VARIABLE} or secret:NAME" is:"secret"`
}

// Observability is the observability tool.
type Observability struct {
	Prometheus string            `yaml:"prometheus" doc:"address of Prometheus" format:"url"`
	Loki       string            `yaml:"loki" doc:"address of Loki" format:"url"`
	Headers    map[string]string `yaml:"headers" doc:"headers sent with each request" is:"secret,loose"`
}
