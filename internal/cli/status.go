package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/guard/safehttp"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say whether a gateway runs on this home folder, where, and how it does", Args: cobra.NoArgs,
		Long: "Say whether a gateway runs on this home folder, where, and how it does. With GOCLAW_TOKEN set to the gateway's\n" +
			"token (or another token of yours) it also tells runs, workers, providers and problems.\n" +
			"Exit status: 0 it runs, 1 it doesn't, or doesn't answer.",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.status(cmd.Context()) },
	}
}

// shownStatus is what "status" prints.
type shownStatus struct {
	Running bool `json:"running"`
	// State is ready, or starting, stopping or silent when it takes no work, or
	// stuck when it can store nothing; of one that doesn't run it is died when
	// nobody stopped it.
	State             string `json:"state,omitempty"`
	*gateway.Instance        // the last one, when it died
	// Detail is what the gateway tells of itself; nil without a token.
	Detail *api.Status `json:"detail,omitempty"`
	// Changed says that config.yaml is not what the gateway runs with.
	Changed string `json:"config_changed,omitempty"`
	// Note says why there is no more.
	Note string `json:"note,omitempty"`
}

func (a *app) status(ctx context.Context) error {
	home, err := config.HomeDir(a.home, a.env)
	if err != nil {
		return err
	}
	i, running, err := gateway.Running(home)
	if err != nil {
		return err
	}
	v := shownStatus{Running: running}
	switch {
	case !running && i.PID != 0:
		v.State, v.Instance = "died", &i
		v.Note = fmt.Sprintf("no gateway runs on %s: the last one (process %d, version %s, since %s) died without stopping; start one with: goclaw start",
			home, i.PID, i.Version, day(i.Started))
	case !running:
		v.Note = "no gateway runs on " + home + "; start one with: goclaw start"
	case i.Address == "":
		v.State = "starting"
	default:
		v.Instance = &i
		v.Changed = gateway.ConfigChanged(config.Options{Home: home, Environ: a.env}, i.Config)
		ctx, cancel := context.WithTimeout(ctx, a.patience)
		defer cancel()
		a.ask(ctx, &v)
	}
	if err := a.print(v, v.write); err != nil {
		return err
	}
	if !running || v.State == "silent" {
		return &exitError{status: exitFailed}
	}
	return nil
}

// ask completes v with what the gateway says of itself.
func (a *app) ask(ctx context.Context, v *shownStatus) {
	base := "http://" + v.Address
	client, err := safehttp.Endpoint(base, safehttp.EndpointOptions{})
	if err != nil {
		v.State, v.Note = "silent", err.Error()
		return
	}
	defer client.CloseIdleConnections()
	get := func(path, token string, into any) (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		if err != nil {
			return 0, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()           // what was wanted of it is read
		_, problem := into.(*api.Problem) // is told by an answer that says no
		if problem == (resp.StatusCode == http.StatusOK) {
			return resp.StatusCode, nil
		}
		return resp.StatusCode, json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
	}
	var why api.Problem
	status, err := get("/readyz", "", &why)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		v.State, v.Note = "silent", fmt.Sprintf("it doesn't answer within %s; it may hang: look at its log, or end process %d", a.patience, v.PID)
		return
	case err != nil:
		v.State, v.Note = "silent", "it doesn't answer: "+err.Error()
		return
	case status == http.StatusOK:
		v.State = "ready"
	case why.Code == "storage":
		v.State = "stuck"
	default:
		v.State = "stopping"
	}
	token, err := a.env.AdminToken()
	if err != nil {
		v.Note = err.Error()
		return
	}
	if token == "" {
		v.Note = "set GOCLAW_TOKEN to a token of yours (goclaw users token NAME) to see runs, workers and providers"
		return
	}
	var d api.Status
	switch status, err := get("/api/status", token, &d); {
	case err != nil:
		v.Note = "it doesn't tell more: " + err.Error()
	case status == http.StatusUnauthorized:
		v.Note = "it doesn't take the token in GOCLAW_TOKEN: set it to the one that it was started with, or to one of goclaw users token"
	case status != http.StatusOK:
		v.Note = fmt.Sprintf("it doesn't tell more: status %d", status)
	default:
		v.Detail = &d
	}
}

func (v shownStatus) write(w io.Writer) error {
	var b strings.Builder
	switch {
	case !v.Running:
		b.WriteString(v.Note + "\n")
		b.WriteString("which models are in trouble is known to a gateway that runs; goclaw doctor asks the providers\n")
		_, err := io.WriteString(w, printable(b.String()))
		return err
	case v.Instance == nil:
		b.WriteString("a gateway is just starting or stopping\n")
	default:
		fmt.Fprintf(&b, "%s: %s (process %d, version %s, since %s)\n", v.State, v.URL, v.PID, v.Version, day(v.Started))
	}
	if d := v.Detail; d != nil {
		spare := ""
		if d.Pool.Spare > 0 {
			spare = fmt.Sprintf(" and %d spare", d.Pool.Spare)
		}
		fmt.Fprintf(&b, "runs: %d going, %d waiting; workers: %d of %d%s busy, %d calls waiting\n",
			d.Runs.Running, d.Runs.Queued, d.Pool.Busy, d.Pool.Workers, spare, d.Pool.Queued)
		for _, p := range d.Providers {
			fmt.Fprintf(&b, "%s/%s: %s\n", p.Provider, p.Model, health(p))
		}
		for _, p := range d.Problems {
			fmt.Fprintf(&b, "problem: %s\n", p)
		}
	}
	if v.Changed != "" && v.Detail == nil { // else it is among the problems
		fmt.Fprintf(&b, "problem: %s\n", v.Changed)
	}
	if v.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", v.Note)
	}
	_, err := io.WriteString(w, printable(b.String()))
	return err
}

// health tells in a line how a provider does.
func health(p api.ProviderStatus) string {
	at := p.LastFailed.Local().Format("15:04:05")
	text := "fine as far as is known"
	switch {
	case time.Now().Before(p.Until):
		text = fmt.Sprintf("left alone until %s, failed last at %s", p.Until.Local().Format("15:04:05"), at)
	case p.Failures > 0:
		text = fmt.Sprintf("%s in the last five minutes, the last at %s", count(p.Failures, "failure"), at)
	case !p.LastFailed.IsZero():
		text = fmt.Sprintf("failed when it was last asked, at %s", day(p.LastFailed))
	case p.Reason != "":
		text = "can't be asked"
	}
	if p.Reason != "" {
		text += ": " + short(p.Reason, 200)
	}
	return text
}
