package config

import (
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// Datasource is a database that db_query and db_write know by its name.
type Datasource struct {
	Name       string        `yaml:"name" doc:"how tools name it" is:"id,required"`
	Driver     string        `yaml:"driver" doc:"kind of database" enum:"postgres|mysql|sqlite" is:"required"`
	DSN        string        `yaml:"dsn" doc:"connection string, better secret:NAME; a file's path for sqlite" is:"secret,required"`
	AllowWrite bool          `yaml:"allow_write" doc:"db_write may change it"`
	MaxRows    int           `yaml:"max_rows" doc:"rows of one result" min:"1"`
	Timeout    time.Duration `yaml:"timeout" doc:"time limit of one statement" is:"positive"`

	Pos source.Pos `yaml:"-"`
}

func (d *Datasource) setDefaults() { d.MaxRows, d.Timeout = 1000, 30*time.Second }

// Secrets says where secrets may go.
type Secrets struct {
	Bind map[string][]string `yaml:"bind" doc:"hosts that a secret may be sent to, by its name"`
}

// Hook is a rule on tool calls.
type Hook struct {
	Name     string        `yaml:"name" doc:"name for people and for the audit log" is:"id,required"`
	When     string        `yaml:"when" doc:"before or after the call" enum:"before|after"`
	Tools    []source.Text `yaml:"tools" doc:"tools, globs and groups; all when empty"`
	Agents   []string      `yaml:"agents" doc:"ids of agents; all when empty"`
	Match    string        `yaml:"match" doc:"condition in CEL; always when empty"`
	Action   string        `yaml:"action" doc:"what a match does; block and approve only before" enum:"block|notify|webhook|approve" is:"required"`
	Message  string        `yaml:"message" doc:"what the model and people are told"`
	Priority int           `yaml:"priority" doc:"higher goes first"`
	Timeout  time.Duration `yaml:"timeout" doc:"time limit of a webhook" is:"positive"`
	URL      string        `yaml:"url" doc:"address of a webhook" format:"url"`
	Secret   string        `yaml:"secret" doc:"signs the webhook (HMAC-SHA256, Standard Webhooks)" is:"secret"`
	To       string        `yaml:"to" doc:"channel target of notify; the web UI when empty"`

	Pos source.Pos `yaml:"-"`
}

func (h *Hook) setDefaults() { h.When, h.Timeout = "before", 5*time.Second }

// MCP are the configured MCP servers.
type MCP struct {
	Servers map[string]MCPServer `yaml:"servers" doc:"servers by name; either command or url"`
}

// MCPServer is a program that is started or an address that is called.
type MCPServer struct {
	Command string            `yaml:"command" doc:"program to start"`
	Args    []string          `yaml:"args" doc:"its arguments" is:"loose"`
	Env     map[string]string `yaml:"env" doc:"its environment" is:"secret,loose"`
	URL     string            `yaml:"url" doc:"address of a server that is running" format:"url"`
	Headers map[string]string `yaml:"headers" doc:"headers sent with each request" is:"secret,loose"`
}

// Route sends messages to an agent.
type Route struct {
	Match RouteMatch `yaml:"match" doc:"which messages; what is empty matches all"`
	Agent string     `yaml:"agent" doc:"id of the agent that answers" is:"required"`

	Pos source.Pos `yaml:"-"`
}

// RouteMatch is the condition of a [Route].
type RouteMatch struct {
	Channel string `yaml:"channel" doc:"name of a channel"`
	Account string `yaml:"account" doc:"account of the channel" is:"loose"`
	Group   string `yaml:"group" doc:"id of a group" is:"loose"`
	Person  string `yaml:"person" doc:"id of a person" is:"loose"`
	Webhook string `yaml:"webhook" doc:"name of a webhook"`
}

// Channel is a chat channel.
type Channel struct {
	Token   string                  `yaml:"token" doc:"token of the bot, ${VARIABLE} or secret:NAME" is:"secret"`
	BaseURL string                  `yaml:"base_url" doc:"address of the API; the channel's own when empty" format:"url"`
	Access  string                  `yaml:"access" doc:"who is answered" enum:"paired|allowlist|open"`
	Groups  map[string]ChannelGroup `yaml:"groups" doc:"settings of groups, by id; * is every group, also one with an entry"`
}

func (c *Channel) setDefaults() { c.Access = "paired" }

// ChannelGroup is the settings of one group of a channel.
type ChannelGroup struct {
	Tools Rule `yaml:"tools" doc:"more rules on tools in this group"`
}

// Webhook starts a run when another system calls.
type Webhook struct {
	Agent     string `yaml:"agent" doc:"id of the agent; the default agent when empty"`
	SOP       string `yaml:"sop" doc:"SOP to run in place of a message"`
	Secret    string `yaml:"secret" doc:"shared secret or key of the signature" is:"secret"`
	Signature string `yaml:"signature" doc:"how calls are signed; the plain secret in a header when empty" enum:"|github|gitlab|stripe"`
	Template  string `yaml:"template" doc:"turns the payload into the message"`
	Deliver   string `yaml:"deliver" doc:"channel target of the answer; nobody when empty"`
}

// Cron is a schedule.
type Cron struct {
	Name     string `yaml:"name" doc:"its name" is:"id,required"`
	Schedule string `yaml:"schedule" doc:"five fields, @every DURATION, or one point in time" is:"required"`
	Timezone string `yaml:"timezone" doc:"of the schedule; the machine's when empty"`
	Agent    string `yaml:"agent" doc:"id of the agent; the default agent when empty"`
	Message  string `yaml:"message" doc:"what the agent is told"`
	SOP      string `yaml:"sop" doc:"SOP to run in place of a message"`
	Deliver  string `yaml:"deliver" doc:"channel target of the answer; nobody when empty"`
	Overlap  string `yaml:"overlap" doc:"when the last firing still runs" enum:"skip|queue"`
	CatchUp  string `yaml:"catch_up" doc:"firings missed while the gateway was down" enum:"none|once"`

	Pos source.Pos `yaml:"-"`
}

func (c *Cron) setDefaults() { c.Overlap, c.CatchUp = "skip", "none" }

// SOPs are the standard operating procedures.
type SOPs struct {
	Editors []string `yaml:"editors" doc:"people, besides admins, who may edit"`
}
