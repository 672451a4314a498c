//go:build goclawtest

package main

// testTools: this build has the tools that misbehave on purpose.
const testTools = true
