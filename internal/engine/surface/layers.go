package surface

// Layers are asked in this order; the first that removes a tool is the one
// that explains it. The cap comes first without exception, and the declared
// set last, so that a step gets what it declares as far as everything else
// permits it.
var Layers = []Layer{
	{Name: "cap", Judge: inCap},
	{Name: "available", Judge: available},
	{Name: "policy", Judge: policy, Secret: true},
	{Name: "optional", Judge: optional, Secret: true},
	{Name: "skills.allow", Judge: skills, Secret: true},
	{Name: roleLayer, Judge: role},
	{Name: "compatibility", Judge: compatibility},
	{Name: "hook", Judge: hooks, Secret: true},
	{Name: "schema", Judge: schema},
	{Name: "declared", Judge: declared},
}
