package config

import (
	"strings"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// AgentBlock is the block agents. After [Load] the list has at least the agent
// main; use [Config.Agents], [Config.Agent] and [Config.DefaultAgent].
type AgentBlock struct {
	List []Agent `yaml:"list" doc:"the agents; without any there is one, main"`
}

// Agent is one entry of agents.list, complete: Name and Workspace are filled
// in, and Tools and Memory have the global settings where the entry has none.
type Agent struct {
	ID              string         `yaml:"id" doc:"a-z, 0-9, - and _, at most 64" is:"id,required"`
	Name            string         `yaml:"name" doc:"name for people; the id when empty"`
	Default         bool           `yaml:"default" doc:"the agent that is meant when none is named; else the first"`
	Model           string         `yaml:"model" doc:"provider or provider/model; ai.provider decides when empty"`
	Fallback        []string       `yaml:"fallback" doc:"replaces ai.fallback, [] with nothing; null keeps it" is:"nullable"`
	Workspace       string         `yaml:"workspace" doc:"folder of its files, relative to the home folder; <home>/workspace for the default agent and <home>/agents/<id>/workspace for others when empty"`
	CoreInstruction string         `yaml:"core_instruction" doc:"begins the system prompt"`
	Tools           Tools          `yaml:"tools" doc:"settings replace the global block of that name whole; policy lists narrow further" is:"overlay,own"`
	Skills          AgentSkills    `yaml:"skills" doc:"which skills it has"`
	Subagents       AgentSubagents `yaml:"subagents" doc:"which subagents it may start"`
	Plugins         []string       `yaml:"plugins" doc:"ids of the plugins that are on, in order of precedence"`
	MCP             []string       `yaml:"mcp" doc:"names of its MCP servers, [] for none; all when null" is:"nullable"`
	Instructions    []string       `yaml:"instructions" doc:"names of the instruction files that may apply, [] for none; all when null" is:"nullable"`
	Secrets         AgentSecrets   `yaml:"secrets" doc:"which secrets it may use"`
	Memory          Memory         `yaml:"memory" doc:"replaces the global block whole" is:"own"`
	Budget          *Budget        `yaml:"budget" doc:"limits of this agent, besides the global ones"`

	// Pos is where the entry begins.
	Pos source.Pos `yaml:"-"`
}

// AgentSkills are the skills of an agent.
type AgentSkills struct {
	Allow []string `yaml:"allow" doc:"names of skills or tools; null is all, [] is none" is:"nullable"`
}

// AgentSubagents are the subagents of an agent.
type AgentSubagents struct {
	AllowAgents []string `yaml:"allow_agents" doc:"names of the profiles it may start"`
}

// AgentSecrets are the secrets of an agent.
type AgentSecrets struct {
	Allow []string `yaml:"allow" doc:"names of the secrets it may use"`
}

// MainAgent is the id of the agent that exists when none is written.
const MainAgent = "main"

// Agents are the configured agents in the order of the file, or the one agent
// main when there are none. The slice is shared: don't change it.
func (c *Config) Agents() []Agent { return c.AgentBlock.List }

// DefaultAgent is the entry with default: true, else the first, else main.
func (c *Config) DefaultAgent() Agent {
	for _, a := range c.AgentBlock.List {
		if a.Default {
			return a
		}
	}
	return c.AgentBlock.List[0]
}

// Agent finds an agent by its id. "main" and "default", in any case, name the
// default agent unless an agent is configured under that id; so does "".
func (c *Config) Agent(id string) (Agent, bool) {
	alias := id == "" || strings.EqualFold(id, MainAgent) || strings.EqualFold(id, "default")
	if alias {
		id = strings.ToLower(id)
	}
	for _, a := range c.AgentBlock.List {
		if a.ID == id {
			return a, true
		}
	}
	if alias {
		return c.DefaultAgent(), true
	}
	return Agent{}, false
}

// validAgentID holds ids to what is safe as a folder name on every system.
func validAgentID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i, r := range id {
		ok := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || i > 0 && (r == '-' || r == '_')
		if !ok {
			return false
		}
	}
	return true
}
