//go:build !goclawtest

package testtools

import "github.com/goclaw/goclaw/internal/tool"

func tools([]Datasource) []tool.Tool { return nil }
