// Command fakellm is the tests' model server as a program, for the browser
// tests of ui/ and for trying things by hand.
//
//	go run ./scripts/fakellm -listen 127.0.0.1:9900 script.json
package main

import (
	"os"

	"github.com/goclaw/goclaw/internal/fakellm"
)

func main() { os.Exit(fakellm.Main(os.Args[1:], os.Stdout, os.Stderr)) }
