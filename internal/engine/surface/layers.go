package surface

// Layers are asked in this order; the first that removes a tool is the one
// that explains it. The cap comes first without exception, and the declared
// set last, so that a step gets what it declares as far as everything else
// permits it.
//
// Three more have their place in the order and join the list with what they
// act on: skills.allow after optional (with the skills, whose required tools
// it must know), hook after compatibility (tools that before_prompt_build
// handlers allow).
var Layers = []Layer{
	{"cap", inCap},
	{"available", available},
	{"policy", policy},
	{"optional", optional},
	// skills.allow
	{roleLayer, role},
	{"compatibility", compatibility},
	// hook
	{"schema", schema},
	{"declared", declared},
}
