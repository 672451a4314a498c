package tool

import "fmt"

// Family is a set of tools that are built together for one agent, from that
// agent's settings.
type Family struct {
	Name  string
	build func(decode func(into any) error) ([]Tool, error)
}

// NewFamily names a family, its default settings and how to build its tools
// from settings. S is a struct with yaml tags: the block tools.<name> of the
// configuration is decoded over defaults. A family without settings takes
// struct{}.
func NewFamily[S any](name string, defaults S, build func(S) ([]Tool, error)) Family {
	return Family{Name: name, build: func(decode func(any) error) ([]Tool, error) {
		settings := defaults
		if err := decode(&settings); err != nil {
			return nil, fmt.Errorf("tools.%s: %w", name, err)
		}
		return build(settings)
	}}
}

// Build makes the family's tools. decode fills a settings struct from the
// agent's configuration and leaves what is not configured as it is.
func (f Family) Build(decode func(into any) error) ([]Tool, error) { return f.build(decode) }
