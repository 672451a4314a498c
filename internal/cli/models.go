package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/provider"
)

func (a *app) modelsCommand() *cobra.Command {
	var name string
	var live bool
	cmd := &cobra.Command{
		Use: "models", Short: "List the models of your providers: window, output limit, prices, abilities", Args: cobra.NoArgs,
		Long: "List the models of the providers that are set up, as the model table knows them and the configuration overrides it\n" +
			"(ai.providers.NAME.prices, .context_window, .max_output_tokens). Prices are in US dollars per million tokens; a line\n" +
			"below a model is what a call costs with more input than that. * marks what the name of the provider alone stands for.",
		Example: "  goclaw models --provider claude\n  goclaw models --live",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(g *gateway.Gateway) error { return a.showModels(cmd.Context(), g, name, live) })
		},
	}
	cmd.Flags().StringVar(&name, "provider", "", "only those of this provider, whether or not it is set up")
	cmd.Flags().BoolVar(&live, "live", false, "ask the providers which models they have now, and of those that tell it (ollama, gemini) what they take")
	return cmd
}

// shownModels is what "models" prints.
type shownModels struct {
	Date      string           `json:"date"` // of the model table
	Providers []shownProviders `json:"providers"`
}

type shownProviders struct {
	Name    string             `json:"name"`
	Note    string             `json:"note,omitempty"` // on the prices of the table
	Sources []string           `json:"sources,omitempty"`
	Live    bool               `json:"live,omitempty"` // the provider itself lists these
	Error   string             `json:"error,omitempty"`
	Models  []provider.Offered `json:"models"`
}

func (a *app) showModels(ctx context.Context, g *gateway.Gateway, name string, live bool) error {
	var names []string
	for _, p := range g.ProvidersInUse(ctx, true) {
		names = append(names, p.Name)
	}
	if name != "" {
		if _, ok := g.Config.Provider(name); !ok {
			return usage("%s", g.Config.UnknownProvider(name))
		}
		names = []string{name}
	}
	v := shownModels{Date: provider.Shipped().Date, Providers: []shownProviders{}}
	v.Providers = append(v.Providers, offers(ctx, g, names, live)...)
	if err := a.print(v, v.write); err != nil {
		return err
	}
	if slices.ContainsFunc(v.Providers, func(p shownProviders) bool { return p.Error != "" }) {
		return &exitError{status: exitFailed}
	}
	return nil
}

// offers asks the providers one after the other.
func offers(ctx context.Context, g *gateway.Gateway, names []string, live bool) (list []shownProviders) {
	for _, name := range names {
		p, ok := g.Config.Provider(name)
		if !ok {
			continue // a fallback names it that is none; doctor says so
		}
		maker := provider.Shipped().Of(p.Type)
		shown := shownProviders{Name: name, Note: maker.Note, Sources: maker.Sources, Live: live}
		asking, cancel := context.WithTimeout(ctx, 10*time.Second)
		models, err := g.OfferedModels(asking, name, live)
		cancel()
		if errors.Is(err, errors.ErrUnsupported) {
			shown.Live = false
			models, err = g.OfferedModels(ctx, name, false)
		}
		if err != nil {
			shown.Error = err.Error()
		}
		shown.Models = append([]provider.Offered{}, models...)
		list = append(list, shown)
	}
	return list
}

func (v shownModels) write(w io.Writer) error {
	if len(v.Providers) == 0 {
		_, err := fmt.Fprintln(w, "no provider is set up: set the key of one in the environment, or see goclaw models --provider openai")
		return err
	}
	for _, p := range v.Providers {
		from := "as the model table of " + v.Date + " and the configuration say"
		if p.Live {
			from = "as it lists them itself"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s\n", p.Name, from)
		switch {
		case p.Error != "":
			fmt.Fprintf(&b, "  can't be asked: %s\n", p.Error)
		default:
			writeModels(&b, p.Models)
		}
		if p.Note != "" {
			fmt.Fprintf(&b, "  %s\n", p.Note)
		}
		if _, err := io.WriteString(w, printable(b.String())); err != nil {
			return err
		}
	}
	return nil
}

func writeModels(b *strings.Builder, models []provider.Offered) {
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  MODEL\tWINDOW\tOUTPUT\t$/M IN\t$/M CACHED\t$/M OUT\tTAKES\tREASONING")
	for _, m := range models {
		name := m.Name
		if m.Default {
			name += " *"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", name, tokens(m.ContextWindow), tokens(m.MaxOutput), priceCells(m), takes(m), reasons(m))
		if m.Price == nil {
			continue
		}
		for _, tier := range m.Price.Tiers {
			tiered := provider.Offered{Model: provider.Model{Price: &tier}}
			fmt.Fprintf(t, "    over %d in\t\t\t%s\t\t\n", tier.Above, priceCells(tiered))
		}
	}
	// It writes into memory.
	_ = t.Flush()
}

// tokens is a number of them, "-" when it isn't known.
func tokens(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// priceCells are the three columns of a price.
func priceCells(m provider.Offered) string {
	switch p := m.Price; {
	case p != nil && p.Cached != nil:
		return fmt.Sprintf("%g\t%g\t%g", p.In, *p.Cached, p.Out)
	case p != nil:
		return fmt.Sprintf("%g\t-\t%g", p.In, p.Out)
	case m.Free:
		return "free\tfree\tfree"
	}
	return "-\t-\t-"
}

// takes lists what a model takes besides text.
func takes(m provider.Offered) string {
	if !m.Known && !m.Told {
		return "unknown"
	}
	var list []string
	for _, x := range []struct {
		name string
		so   bool
	}{{"tools", m.Tools}, {"images", m.Images}, {"files", m.Files}} {
		if x.so {
			list = append(list, x.name)
		}
	}
	if len(list) == 0 {
		return "text"
	}
	return strings.Join(list, " ")
}

// reasons says how a model is told to think.
func reasons(m provider.Offered) string {
	switch {
	case len(m.Effort) > 0:
		return strings.Join(m.Effort, " ")
	case m.Thinking != nil && m.Thinking.Budget:
		return "a budget of tokens"
	}
	return ""
}

// providers are those that a command can be told.
func (a *app) providers(context.Context, string) []cobra.Completion {
	return slices.Sorted(maps.Keys(a.asFound().AI.Providers))
}
