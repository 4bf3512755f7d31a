// Command go03 is a peer made with the official Go SDK for v0.3: an agent and a client.
//
//	go03 serve           serves the agent on a free loopback port and prints "ready URL"
//	go03 check <PLAN     runs the plan (see package check) and prints a line of JSON per check
package main

import (
	"fmt"
	"os"

	"parley/interop/check"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		serve()
	case len(os.Args) == 2 && os.Args[1] == "check":
		os.Exit(check.Main(dial, os.Stdin, os.Stdout))
	default:
		fmt.Fprintln(os.Stderr, "usage: go03 serve|check")
		os.Exit(2)
	}
}
