// Parley is an application for people who work with many A2A agents, and an A2A agent itself.
package main

import (
	"context"
	"os"

	"parley/app/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
