// What a tool is offered for, in words.
export const reasons: Record<string, string> = {
	core: 'it is a core tool',
	internal: 'it is an internal tool',
	configured: 'tools.core names it',
	contents: 'what the message holds calls for it',
	pinned: 'it is always there where it works',
	client: 'the client brought it',
	prior: 'it is one of those that the agent uses most',
	everyday: 'most agents use it, and this one has used few so far',
	continuity: 'the turn before used it',
	message: 'the message speaks of it',
	meaning: 'the message means something like it',
	few: 'it was installed on purpose, and there is little of that',
	search: 'search_tools found it in this turn',
	kept: 'the session’s list has it',
	all: 'all permitted tools are offered',
	declared: 'the step or profile declares it',
};
