package openai

import (
	"context"
	"flag"
	"net"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// counting counts the connections that dial makes.
func counting(dial dialer, n *int) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		*n++
		return dial(ctx, network, address)
	}
}
