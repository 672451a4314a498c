package surface

// Layers are asked in this order; the first that removes a tool is the one
// that explains it. The cap comes first without exception, and the declared
// set last, so that a step gets what it declares as far as everything else
// permits it.
//
// One more has its place in the order and joins the list with what it acts on:
// hook after compatibility (tools that before_prompt_build handlers allow).
var Layers = []Layer{
	{"cap", inCap},
	{"available", available},
	{"policy", policy},
	{"optional", optional},
	{"skills.allow", skills},
	{roleLayer, role},
	{"compatibility", compatibility},
	// hook
	{"schema", schema},
	{"declared", declared},
}
