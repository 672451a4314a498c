//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// terminals reports whether scripts can run programs on a terminal.
const terminals = false

func terminalCommands(map[string]func(*testscript.TestScript, bool, []string)) {}
