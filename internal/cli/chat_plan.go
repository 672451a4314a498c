package cli

import (
	"context"
	"errors"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// plan turns plan mode of the conversation on or off; without a word it turns
// it round. A conversation that has not begun yet begins with it.
func (c *chat) plan(ctx context.Context, word string) error {
	on := !c.req.Plan
	if c.begun {
		s, err := c.g.Sessions.Session(ctx, c.key())
		if err != nil {
			return err
		}
		on = s.State == nil || !s.State.Plan
	}
	switch word {
	case "":
	case "on", "off":
		on = word == "on"
	default:
		return usage("/plan takes on or off, not %q", word)
	}
	err := c.g.Runner.SetPlan(ctx, c.key(), on)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	c.planning = on
	if c.req.Plan = on && !c.begun; on {
		c.tell("plan mode is on: what changes something is refused until /plan off, or until the plan is agreed to")
		return nil
	}
	c.tell("plan mode is off")
	return nil
}
