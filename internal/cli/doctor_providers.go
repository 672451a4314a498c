package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

const (
	// askWithin bounds what one provider may take to list its models, and then
	// to tell of them.
	askWithin = 10 * time.Second
	// tryWithin bounds what a model may take to answer, which may have to be
	// loaded first.
	tryWithin = 20 * time.Second
)

// examineProviders checks the providers that are set up or asked for, side by
// side.
func examineProviders(ctx context.Context, g *gateway.Gateway, offline bool, within time.Duration) []finding {
	list := g.ProvidersInUse(ctx, !offline)
	found := make([][]finding, len(list))
	var wait sync.WaitGroup
	for i, p := range list {
		wait.Go(func() {
			e := providerExam{g: g, ProviderInUse: p, offline: offline, within: within}
			e.settings, _ = g.Config.Provider(p.Name)
			found[i] = e.examine(ctx)
		})
	}
	wait.Wait()
	return slices.Concat(found...)
}

// providerExam is the check of one provider.
type providerExam struct {
	gateway.ProviderInUse
	g        *gateway.Gateway
	settings config.Provider
	offline  bool
	within   time.Duration

	models []string // that it lists; nil when it wasn't asked or doesn't
}

func (e *providerExam) examine(ctx context.Context) []finding {
	check := "provider " + e.Name
	key := "no key"
	if e.Key != "" {
		key = "key from " + e.Key
	}
	if err := e.g.ProviderProblem(e.Name); err != nil {
		detail := err.Error()
		if le := (*llm.Error)(nil); errors.As(err, &le) {
			detail = le.Message
		}
		return []finding{{check, isFault, detail, e.problemFix(err)}}
	}
	found := finding{check, isOK, key, ""}
	switch {
	case e.offline:
		found.Detail += ", not asked"
	default:
		asking, cancel := context.WithTimeout(ctx, e.within)
		defer cancel()
		names, err := e.g.ListModels(asking, e.Name)
		if errors.Is(err, errors.ErrUnsupported) {
			found.Detail += "; it can't be asked for its models"
			break
		}
		if err != nil {
			found = e.failure(err)
			break
		}
		e.models = names
		found.Detail = fmt.Sprintf("it answers, %s; %s", key, count(len(names), "model"))
	}
	out := []finding{found}
	if found.Status == isFault {
		return out
	}
	used := e.used()
	of := make([][]finding, len(used))
	var wait sync.WaitGroup
	for i, m := range used {
		wait.Go(func() { of[i] = e.model(ctx, m.Model, m.By) })
	}
	wait.Wait()
	return append(out, slices.Concat(of...)...)
}

// problemFix is what to do about a provider that can't be asked at all.
func (e *providerExam) problemFix(err error) string {
	b, builtin := provider.Known(e.settings.Type)
	name := e.Name
	if name == "gemini-legacy" {
		name = "gemini" // whose settings it takes, and which should be written
	}
	var le *llm.Error
	switch {
	case errors.As(err, &le) && le.Class == llm.ClassAuth && builtin:
		return fmt.Sprintf("set %s, or write ai.providers.%s.api_key", b.KeyVar, name)
	case errors.Is(err, config.ErrNoKey):
		return fmt.Sprintf("write ${VARIABLE} as ai.providers.%s.api_key, and the key into the environment", name)
	case len(e.Uses) > 0:
		return fmt.Sprintf("name another provider in %s, or mend ai.providers.%s", e.Uses[0].By, e.Name)
	}
	return fmt.Sprintf("mend or take out ai.providers.%s", e.Name)
}

// failure is what it means that a provider did not give its list of models.
func (e *providerExam) failure(err error) finding {
	check, name := "provider "+e.Name, "ai.providers."+e.Name
	detail := err.Error()
	var le *llm.Error
	var why string
	if errors.As(err, &le) {
		why, _ = le.Unreached()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return finding{check, isFault, fmt.Sprintf("%s gives no answer within %s", e.address(), e.within), e.unreachableFix("the server hangs, or a firewall drops what is sent")}
	case le == nil:
		return finding{check, isFault, detail, "mend " + name}
	case le.Class == llm.ClassAuth:
		from := cmp.Or(e.Key, "nowhere: it is sent none")
		return finding{check, isFault, fmt.Sprintf("%s; the key is from %s", detail, from), "put a key that is valid there into " + cmp.Or(e.Key, name+".api_key")}
	case le.Class == llm.ClassQuota || le.Class == llm.ClassBilling:
		return finding{check, isFault, detail, "the key is right, but the account has nothing left to spend: see its billing page"}
	case le.Class == llm.ClassOverloaded || le.Class == llm.ClassNetwork && le.Status != 0:
		return finding{check, isWarning, detail, "the trouble is there: try again later, and name another provider in ai.fallback"}
	case le.Status == http.StatusNotFound:
		return finding{check, isWarning, fmt.Sprintf("%s has no list of models there (HTTP 404)", e.address()), "if calls fail as well, correct " + name + ".base_url" + e.hint()}
	case le.Class == llm.ClassNetwork:
		return finding{check, isFault, fmt.Sprintf("%s can't be asked: %s", e.address(), le.Message), e.unreachableFix(cmp.Or(why, "the server or the network is down"))}
	}
	return finding{check, isFault, detail, "correct " + name + ".base_url" + e.hint() + ": what answers there is no such server"}
}

// unreachableFix is why, with the settings to look at.
func (e *providerExam) unreachableFix(why string) string {
	if e.settings.Proxy != "" {
		return fmt.Sprintf("%s; check ai.providers.%s.proxy and .base_url", why, e.Name)
	}
	return fmt.Sprintf("%s; check ai.providers.%s.base_url", why, e.Name)
}

// hint is what addresses like that of the provider have in common.
func (e *providerExam) hint() string {
	t := llm.Target{}
	if e.settings.Type == "openai" || e.settings.Type == provider.Compatible {
		t.Vendor = "openai"
	}
	return t.AddressHint()
}

// address is where a provider is, without what may be secret.
func (e *providerExam) address() string {
	u, err := url.Parse(e.settings.BaseURL)
	if err != nil || u.Host == "" {
		return e.Name
	}
	return u.Scheme + "://" + u.Host
}

// used are the models to look at, each once with all that name it.
func (e *providerExam) used() []gateway.ModelUse {
	uses := e.Uses
	if len(uses) == 0 && e.settings.Model != "" {
		uses = []gateway.ModelUse{{Model: e.Name, By: "ai.providers." + e.Name}}
	}
	var out []gateway.ModelUse
	for _, use := range uses {
		if _, model := config.SplitModel(use.Model); model == "" && e.settings.Model != "" {
			use.Model = e.Name + "/" + e.settings.Model
		}
		at := slices.IndexFunc(out, func(o gateway.ModelUse) bool { return o.Model == use.Model })
		if at < 0 {
			out = append(out, use)
		} else {
			out[at].By += ", " + use.By
		}
	}
	return out
}

// model checks one model of the provider.
func (e *providerExam) model(ctx context.Context, full, by string) []finding {
	check := "model " + full
	_, model := config.SplitModel(full)
	if model == "" {
		return []finding{{check, isFault, by + " names no model, and the provider has none of its own", fmt.Sprintf("write %s/MODEL there, or set ai.providers.%s.model", e.Name, e.Name)}}
	}
	known := e.g.KnownModel(e.Name, model)
	var out []finding
	warn := func(detail, fix string) { out = append(out, finding{check, isWarning, detail, fix}) }
	if e.models != nil && !listsModel(e.models, model) {
		warn(fmt.Sprintf("%s answers, but doesn't list the model %s (%s)", e.Name, model, by), e.missingFix(model))
	}
	tools := "takes tools"
	asking, cancel := context.WithTimeout(ctx, e.within)
	defer cancel()
	unsure := !known.Known && e.settings.Tools == nil
	switch {
	case e.offline && unsure:
		tools = "whether it takes tools is not known"
	case e.offline:
	default:
		probed, err := e.g.ProbeModel(asking, e.Name, model)
		switch {
		case err == nil:
			known.Tools = known.Tools && (probed.Tools || !probed.Known)
			known.ContextWindow = cmp.Or(known.ContextWindow, probed.ContextWindow)
		case len(out) > 0:
		case !errors.Is(err, errors.ErrUnsupported):
			warn(fmt.Sprintf("%s tells nothing of the model: %v", e.Name, err), e.missingFix(model))
		case unsure:
			out = append(out, e.tryTools(ctx, check, model, by)...)
		}
	}
	if !known.Tools {
		warn("it takes no tools: agents can only talk with it", "name a model that takes tools in "+by)
	}
	if len(out) == 0 {
		out = append(out, e.fine(check, by, tools, known))
	}
	if known.ContextWindow == 0 {
		warn("how much it can read is not known, so that long conversations are not shortened before they fail", fmt.Sprintf("set ai.providers.%s.context_window", e.Name))
	}
	return out
}

// fine is what is told of a model with which nothing is wrong.
func (e *providerExam) fine(check, by, tools string, known provider.Offered) finding {
	f := finding{check, isOK, "for " + by + ": ", ""}
	if known.ContextWindow > 0 {
		f.Detail += fmt.Sprintf("%d tokens, ", known.ContextWindow)
	}
	f.Detail += tools
	switch p := known.Price; {
	case p != nil:
		f.Detail += fmt.Sprintf(", %g and %g USD per million tokens", p.In, p.Out)
	case !known.Free:
		f.Detail += ", its price is not known, so that its cost is not counted"
		f.Fix = fmt.Sprintf("set ai.providers.%s.prices, if it matters", e.Name)
	}
	return f
}

// tryTools asks a model of which nobody says whether it takes tools. It finds
// nothing when it does.
func (e *providerExam) tryTools(ctx context.Context, check, model, by string) []finding {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	refused, err := e.g.TryTools(ctx, e.Name, model)
	switch {
	case refused != nil:
		fix := "name a model that takes tools in " + by
		switch {
		case strings.Contains(refused.Message, "--enable-auto-tool-choice"):
			fix = "start vLLM with --enable-auto-tool-choice and the --tool-call-parser of the model"
		case strings.Contains(refused.Message, "--jinja"):
			fix = "start llama.cpp's server with --jinja"
		}
		return []finding{{check, isWarning, "it takes no tools: agents can only talk with it: " + refused.Message, fix}}
	case err == nil:
		return nil
	}
	f := e.failure(err)
	var le *llm.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.Detail, f.Fix = fmt.Sprintf("it gave no answer within %s", tryWithin), "it may have been loading: try again"
	case errors.As(err, &le) && le.Class == llm.ClassNoModel:
		f.Status, f.Detail, f.Fix = isFault, err.Error(), e.missingFix(model)
	case errors.As(err, &le) && le.Class == llm.ClassBadRequest:
		f.Status, f.Detail, f.Fix = isWarning, err.Error(), "try it: goclaw run --model "+e.Name+"/"+model+" Hello"
	}
	f.Check, f.Detail = check, "whether it takes tools is not known: "+f.Detail
	return []finding{f}
}

// missingFix is what to do about a model that is not there.
func (e *providerExam) missingFix(model string) string {
	if e.settings.Type == "ollama" {
		return "ollama pull " + model
	}
	near := nearest.Names(model, e.models, 3)
	if len(near) == 0 {
		near = e.models
	}
	if len(near) == 0 {
		return "check its name"
	}
	return fmt.Sprintf("name one that it has (see goclaw models --live --provider %s): %s", e.Name, short(strings.Join(near, ", "), 200))
}

// listsModel allows for Ollama's tags.
func listsModel(models []string, name string) bool {
	for _, m := range models {
		if m == name || strings.TrimSuffix(m, ":latest") == name {
			return true
		}
	}
	return false
}
