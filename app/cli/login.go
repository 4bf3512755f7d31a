package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/app"
)

func (e *env) loginCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "login", Short: "Let browsers on other machines in by a passphrase",
		Long: "The page is open to this machine alone, by one-time links. To show it to other machines, keep a passphrase with\n" +
			"`parley login set` and serve with a certificate:\n\n" +
			"  parley serve --ui 0.0.0.0:7420 --ui-url https://parley.example:7420 --tls-cert cert.pem --tls-key key.pem\n\n" +
			"Only a hash (argon2id) of the passphrase is kept. Ten wrong ones within a minute lock their source out for a minute.\n" +
			"Behind a proxy that speaks TLS with the browsers, its address is everybody's, unless --proxies names it:\n\n" +
			"  parley serve --ui 127.0.0.1:7420 --ui-url https://parley.example --proxies 127.0.0.1",
	}
	c.AddCommand(&cobra.Command{
		Use: "set", Short: "Keep a passphrase, read from the standard input", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := e.dir()
			if err != nil {
				return err
			}
			if terminal(e.stdin) {
				fmt.Fprint(e.stderr, "Passphrase (shown as you type): ")
			}
			line, err := bufio.NewReader(e.stdin).ReadString('\n')
			if line = strings.TrimRight(line, "\r\n"); line == "" {
				return &codedError{exitUsage, fmt.Errorf("there is no passphrase on the standard input: %w", err)}
			}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			if err := app.SetLogin(dir, line); err != nil {
				return err
			}
			fmt.Fprintln(e.stdout, "The passphrase is kept.")
			return nil
		},
	}, &cobra.Command{
		Use: "remove", Short: "Forget the passphrase", Args: cobra.NoArgs,
		Long: "Forgets the passphrase. Browsers that it let in are let in no more, nor are they after another one was set.",
		RunE: func(*cobra.Command, []string) error {
			dir, err := e.dir()
			if err != nil {
				return err
			}
			return app.SetLogin(dir, "")
		},
	})
	return c
}
