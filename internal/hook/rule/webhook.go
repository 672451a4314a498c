package rule

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

const (
	// maxAnswer bounds the answer of a webhook, in bytes: a decision and a
	// reason fit many times.
	maxAnswer = 64 << 10
	// maxResult bounds the text of a result that a webhook is told, in bytes.
	maxResult = 64 << 10
	// maxReason bounds what of a webhook's reason is told on, in characters.
	maxReason = 500
)

// delivery is the body of a webhook.
type delivery struct {
	ID   string    `json:"id"` // also the header webhook-id
	Time time.Time `json:"time"`
	Type string    `json:"type"` // before_tool_call or after_tool_call
	Rule string    `json:"rule"`

	Call    sentCall       `json:"call"`
	Agent   string         `json:"agent"`
	Session string         `json:"session,omitempty"`
	Run     string         `json:"run,omitempty"`
	Origin  tool.Origin    `json:"origin"`
	Channel string         `json:"channel,omitempty"`
	Caller  auth.Principal `json:"caller"`

	Outcome *sentOutcome `json:"outcome,omitempty"` // only after
}

type sentCall struct {
	ID       string          `json:"id"`
	Tool     string          `json:"tool"`
	Owner    string          `json:"owner"`
	Args     json.RawMessage `json:"args"`
	Touches  []tool.Touch    `json:"touches"`
	ReadOnly bool            `json:"read_only"`
}

type sentOutcome struct {
	Status     tool.Status `json:"status"`
	Result     string      `json:"result,omitempty"`
	Error      string      `json:"error,omitempty"`
	Cut        bool        `json:"cut,omitempty"` // the text was longer
	Cached     bool        `json:"cached,omitempty"`
	DurationMS int64       `json:"duration_ms"`
}

// Sign signs a webhook as https://www.standardwebhooks.com says: it returns the
// header webhook-signature for the id, the time in Unix seconds and the body. A
// secret that begins with whsec_ is the Base64 of the key, any other one is the
// key itself.
func Sign(secret, id string, unix int64, body []byte) string {
	key := []byte(secret)
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if k, err := base64.StdEncoding.DecodeString(text); err == nil {
			key = k
		}
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.", id, unix)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// send posts the call, once at most: a connection that breaks while the call is
// on its way leaves open whether it came. The answer's body is to be closed.
func (r *compiled) send(ctx context.Context, c *hook.Call, o *tool.Outcome) (*http.Response, error) {
	if r.set.opts.Client == nil {
		return nil, errors.New("tools.http can't be read, so that nothing is sent")
	}
	s, now := c.Scope, r.set.opts.Now()
	d := delivery{
		ID: "msg_" + rand.Text(), Time: now.UTC(), Type: "before_tool_call", Rule: r.Name,
		Call: sentCall{
			ID: c.ID, Tool: c.Tool, Owner: ownerOf(c.Owner), Args: c.Args, Touches: append([]tool.Touch{}, c.Touches...),
			ReadOnly: c.Def.ReadOnly,
		},
		Agent: s.Agent(), Session: s.Session(), Run: s.Run(), Origin: s.Origin(), Channel: s.Delivery().Channel, Caller: s.Caller(),
	}
	if len(c.Args) == 0 {
		d.Call.Args = json.RawMessage("{}")
	}
	if o != nil {
		d.Type, d.Outcome = "after_tool_call", sentOf(o)
	}
	body, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("write the call: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	h.Set("User-Agent", "GoClaw-Hooks")
	h.Set("webhook-id", d.ID)
	h.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	if r.Secret != "" {
		h.Set("webhook-signature", Sign(r.Secret, d.ID, now.Unix(), body))
	}
	// A connection of its own, so that none is used which the server has just
	// closed; and a transport sends nothing again whose body it can't have again.
	req.Close, req.GetBody = true, nil
	return r.set.opts.Client.Do(req)
}

func sentOf(o *tool.Outcome) *sentOutcome {
	text := llm.JoinText(o.Content)
	s := &sentOutcome{Status: o.Status, Cached: o.Cached, DurationMS: o.Ended.Sub(o.Started).Milliseconds()}
	if len(text) > maxResult {
		text, s.Cut = strings.ToValidUTF8(text[:maxResult], ""), true
	}
	if o.Failed() {
		s.Error = text
	} else {
		s.Result = text
	}
	return s
}

// askWebhook lets the webhook decide about a call. One answer lets it through:
// status 200 with a JSON object whose decision is "allow". The error says why there
// is no decision, which blocks the call too.
func (r *compiled) askWebhook(ctx context.Context, c *hook.Call) (hook.Verdict, error) {
	d, err := r.ask(ctx, c)
	if err != nil {
		return r.block(fmt.Sprintf("The rule %s asks a webhook about %s, and %v, so the call did not run.", r.Name, c.Tool, r.plainly(ctx, err)), mending(err)), err
	}
	if d.Decision == "allow" {
		return hook.Verdict{Note: "its webhook allows"}, nil
	}
	said := strings.TrimSpace(r.Message)
	if d.Reason != "" {
		said = shortened(d.Reason)
	}
	return r.block(r.words(c.Tool, said), change), nil
}

// change is what can be done about a rule that does as it says. Models and users
// read it, to whom it is no business where the rule stands.
const change = "An admin can change the rule."

// mending says what can be done about a webhook that gave no decision.
func mending(err error) string {
	var refusal *tool.Refusal
	switch {
	case !errors.As(err, &refusal):
		return "An admin can see to the program behind it, or change the rule."
	case refusal.Allowed != "":
		return refusal.Allowed
	}
	return "An admin can let it be sent; goclaw hooks test says to them what keeps it back."
}

func (r *compiled) words(name, said string) string {
	if said == "" {
		return fmt.Sprintf("The webhook of the rule %s denies %s.", r.Name, name)
	}
	return ended(fmt.Sprintf("The webhook of the rule %s denies %s: %s", r.Name, name, said))
}

func (r *compiled) ask(ctx context.Context, c *hook.Call) (decision, error) {
	resp, err := r.send(ctx, c, nil)
	if err != nil {
		return decision{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode >= 300 && resp.StatusCode < 400 {
			return decision{}, fmt.Errorf("it answered with a redirect (status %d), which is not followed", resp.StatusCode)
		}
		return decision{}, fmt.Errorf("it answered with status %d, not 200", resp.StatusCode)
	}
	if how := resp.Header.Get("Content-Encoding"); how != "" && how != "identity" {
		return decision{}, fmt.Errorf("it answered with an encoding that it was not asked for (%s)", shortened(how))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return decision{}, fmt.Errorf("its answer can't be read: %w", err)
	}
	d, err := parseDecision(body)
	if err != nil {
		return decision{}, fmt.Errorf("its answer is no decision: %w", err)
	}
	return d, nil
}

// plainly says what went wrong in words for a model and for people, without the
// webhook's address, which may hold a secret and is nothing for a model.
func (r *compiled) plainly(ctx context.Context, err error) error {
	var refusal *tool.Refusal
	var timeout net.Error
	var sending *url.Error
	var dialing *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refusal):
		return fmt.Errorf("its address may not be reached: %s", strings.TrimSuffix(refusal.Reason, "."))
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return errors.New("the run was stopped meanwhile")
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("it did not answer within %s", r.Timeout)
	case errors.As(err, &name):
		return errors.New("its host is not known")
	case errors.As(err, &certificate):
		return errors.New("its certificate is not valid for it")
	case errors.As(err, &dialing) && dialing.Op == "dial":
		return fmt.Errorf("it can't be reached: %w", dialing.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), dialing != nil:
		return errors.New("it closed the connection before the answer was complete")
	case errors.As(err, &sending):
		return fmt.Errorf("it can't be reached: %w", innermost(err))
	}
	return err
}

// innermost is err without the address that was asked for.
func innermost(err error) error {
	var sending *url.Error
	if errors.As(err, &sending) {
		return sending.Err
	}
	return err
}

// decision is the answer of a webhook that decides.
type decision struct {
	Decision string // allow or deny
	Reason   string
}

// parseDecision reads an answer: one JSON object whose decision is "allow" or
// "deny", with a reason if it likes, and nothing that could be meant otherwise:
// no other key, no key twice, nothing behind it.
func parseDecision(body []byte) (decision, error) {
	if len(body) > maxAnswer {
		return decision{}, fmt.Errorf("it is longer than %d bytes", maxAnswer)
	}
	if !utf8.Valid(body) {
		return decision{}, errors.New("it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return decision{}, errors.New("it is no JSON object")
	}
	var d decision
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return decision{}, errors.New("it is no JSON object")
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return decision{}, errors.New("it is no JSON object")
		}
		if seen[key] {
			return decision{}, fmt.Errorf("it has the key %q twice", shortened(key))
		}
		seen[key] = true
		text, isText := value.(string)
		switch {
		case key != "decision" && key != "reason":
			return decision{}, fmt.Errorf("it has the key %q; decision and reason are known", shortened(key))
		case !isText && (key == "decision" || value != nil):
			return decision{}, fmt.Errorf("its %s is no text", key)
		case key == "decision":
			d.Decision = text
		default:
			d.Reason = text
		}
	}
	if _, err := dec.Token(); err != nil {
		return decision{}, errors.New("it is no JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return decision{}, errors.New("something follows its JSON object")
	}
	if d.Decision != "allow" && d.Decision != "deny" {
		return decision{}, fmt.Errorf("its decision is %q, neither \"allow\" nor \"deny\"", shortened(d.Decision))
	}
	return d, nil
}

// shortened is text on one line, as much of it as is told on.
func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxReason {
		return string(r[:maxReason]) + "…"
	}
	return s
}

// tellWebhook tells the webhook how a call ended. Any status of success is fine.
func (r *compiled) tellWebhook(ctx context.Context, c *hook.Call, o *tool.Outcome) error {
	resp, err := r.send(ctx, c, o)
	if err != nil {
		plain := r.plainly(ctx, err)
		r.fail(plain.Error())
		return fmt.Errorf("tell the webhook of %s: %w", r.Name, plain)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		why := fmt.Sprintf("it answered with status %d", resp.StatusCode)
		r.fail(why)
		return fmt.Errorf("tell the webhook of %s: %s", r.Name, why)
	}
	return nil
}
