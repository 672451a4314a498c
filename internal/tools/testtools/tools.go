//go:build goclawtest

package testtools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/tool"
)

// hangLimit is how long test_hang may run. It does not heed it.
const hangLimit = 2 * time.Second

func tools(sources []Datasource) []tool.Tool {
	// Core, so that a script may call them whatever its message is about.
	harmless := tool.Traits{Category: "test", ReadOnly: true, Core: true}
	repeated, hanging := harmless, harmless
	repeated.Repeats, hanging.Timeout = true, hangLimit
	return append(data(sources),
		tool.New(tool.Definition{Name: "test_sleep", Description: "Sleeps for a number of seconds.", Traits: repeated}, sleep),
		tool.New(tool.Definition{Name: "test_panic", Description: "Panics.", Traits: harmless},
			func(context.Context, tool.Call, struct{}) (string, error) { panic("test_panic was called") }),
		tool.New(tool.Definition{Name: "test_hang", Description: "Never returns and heeds no context.", Traits: hanging},
			func(context.Context, tool.Call, struct{}) (string, error) { select {} }),
		tool.New(tool.Definition{Name: "test_fail", Description: "Fails.", Traits: harmless},
			func(context.Context, tool.Call, struct{}) (string, error) {
				return "", errors.New("test_fail was called")
			}),
	)
}

type sleepIn struct {
	Seconds float64 `json:"seconds" jsonschema:"how long to sleep" min:"0" max:"3600"`
}

func sleep(ctx context.Context, call tool.Call, in sleepIn) (string, error) {
	call.Host.Progress(fmt.Sprintf("sleeping for %g s", in.Seconds))
	timer := time.NewTimer(time.Duration(in.Seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return fmt.Sprintf("slept for %g s", in.Seconds), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
