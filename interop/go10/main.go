// Command go10 is a peer made with the official Go SDK for v1.0: an agent and a client.
//
//	go10 serve           serves the agent on a free loopback port and prints "ready URL"
//	go10 check <PLAN     runs the plan (see package check) and prints a line of JSON per check
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
		fmt.Fprintln(os.Stderr, "usage: go10 serve|check")
		os.Exit(2)
	}
}
