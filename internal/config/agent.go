package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	if a, ok := c.own(id); ok {
		return a, true
	}
	if alias {
		return c.DefaultAgent(), true
	}
	return Agent{}, false
}

// Displaced tells what becomes of the agents of before, the configuration that
// this one takes the place of: those that are gone, and those that work in
// another folder though nobody gave them one. Agents that never had a folder
// have nothing to lose.
func (c *Config) Displaced(before *Config) []string {
	var out []string
	for _, was := range before.Agents() {
		if _, err := os.Stat(was.Workspace); err != nil {
			continue
		}
		now, ok := c.own(was.ID)
		switch {
		case !ok:
			out = append(out, c.gone(was))
		case now.Workspace != was.Workspace && !c.givesFolder(was.ID) && !before.givesFolder(was.ID):
			// Nobody gave it that folder, so it is one in the home.
			folder := strings.TrimPrefix(was.Workspace, before.Home+string(filepath.Separator))
			out = append(out, fmt.Sprintf("agent %s works in %s now, no longer in %s; to leave it there: goclaw config set 'agents.list[%s].workspace' %s",
				was.ID, now.Workspace, was.Workspace, was.ID, filepath.ToSlash(folder)))
		}
	}
	return out
}

// gone tells what is left of an agent that is configured no more.
func (c *Config) gone(was Agent) string {
	text := fmt.Sprintf("agent %s is gone: its conversations can be looked at, and nobody goes on with them, and ", was.ID)
	for _, a := range c.Agents() {
		if a.Workspace != was.Workspace {
			continue
		}
		text += fmt.Sprintf("%s works in its folder, %s", a.ID, a.Workspace)
		if was.Default && a.Default {
			text += fmt.Sprintf("; to keep %s: goclaw config set 'agents.list[%s].default' true", was.ID, was.ID)
		}
		return text
	}
	return text + "its folder stays, " + was.Workspace
}

// own is the agent that is configured under an id.
func (c *Config) own(id string) (Agent, bool) {
	i := slices.IndexFunc(c.Agents(), func(a Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return c.Agents()[i], true
}

// givesFolder reports whether the configuration says where an agent works.
func (c *Config) givesFolder(id string) bool {
	_, written := locate(c.root, path{{name: "agents"}, {name: "list"}, {kind: stepEntry, name: id, index: -1}, {name: "workspace"}})
	return written
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
