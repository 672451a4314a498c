package gateway

// ActedOn lists the keys of the configuration that this version acts on; the
// others are checked and kept for the rooms that are still to come.
var ActedOn = []string{
	"version",
	"ai.provider", "ai.fallback", "ai.providers",
	"agents.list[].id", "agents.list[].name", "agents.list[].default", "agents.list[].model", "agents.list[].fallback",
	"agents.list[].workspace", "agents.list[].core_instruction",
	"agents.list[].tools.profile", "agents.list[].tools.allow", "agents.list[].tools.also_allow", "agents.list[].tools.deny",
	"agents.list[].tools.by_provider", "agents.list[].tools.by_sender", "agents.list[].tools.subagents", "agents.list[].tools.sandbox", "agents.list[].skills",
	"agents.list[].tools.max_tool_iterations", "agents.list[].tools.max_result_chars", "agents.list[].tools.max_step_chars",
	"agents.list[].budget", "agents.list[].tools.timeout", "agents.list[].tools.approval_timeout", "agents.list[].tools.loop_guard", "agents.list[].memory.context_budget_chars",
	"tools.profile", "tools.allow", "tools.also_allow", "tools.deny", "tools.by_provider", "tools.by_sender", "tools.subagents", "tools.sandbox",
	"tools.max_tool_iterations", "tools.max_result_chars", "tools.max_step_chars", "tools.pool", "tools.timeout", "tools.loop_guard", "tools.approval_timeout",
	"hooks[].name", "hooks[].when", "hooks[].tools", "hooks[].agents", "hooks[].match", "hooks[].action", "hooks[].message", "hooks[].priority",
	"hooks[].timeout", "hooks[].url", "hooks[].secret", "tools.http.default", "tools.http.allow", "tools.http.deny", "tools.http.allow_private",
	"tools.http.methods",
	"tools.rag", "tools.core", "agents.list[].tools.rag", "agents.list[].tools.core",
	"memory.context_budget_chars", "cache.enabled", "cache.llm_cache", "cache.tools", "outputs", "sessions.while_busy", "budget",
	"gateway.listen", "gateway.public_url", "gateway.cors", "telemetry.metrics", "log.level", "log.format",
}
