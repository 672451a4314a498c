package surface

// Layers are asked in this order; the first that removes a tool is the one
// that explains it. The cap comes first without exception, and the declared
// set last, so that a step gets what it declares as far as everything else
// permits it.
var Layers = []Layer{
	{"cap", inCap},
	{"available", available},
	{"policy", policy},
	{"optional", optional},
	{"skills.allow", skills},
	{roleLayer, role},
	{"compatibility", compatibility},
	{"hook", hooks},
	{"schema", schema},
	{"declared", declared},
}
