// Parley is an application for people who work with many A2A agents, and an A2A agent itself.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"parley/app/cli"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// garbage is how much of it may gather beside what is in use, in percent: what the program holds is small, and twice the
// usual makes collecting it cost half.
const garbage = 200
