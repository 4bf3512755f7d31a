// Command dev is Parley while it is developed: the program itself, with every part of the page in sample content at
// /storybook. make dev runs it.
package main

import (
	"context"
	"net/http"
	"os"

	"github.com/spf13/pflag"

	"parley/app"
	"parley/app/cli"
	"parley/frontend/storybook"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, &cli.Edition{
		Name:  "parley",
		Flags: func(*pflag.FlagSet) {},
		Configure: func(_ context.Context, cfg *app.Config) (func(), error) {
			cfg.Pages = map[string]http.Handler{"GET /storybook": storybook.Handler()}
			return func() {}, nil
		},
	}))
}
