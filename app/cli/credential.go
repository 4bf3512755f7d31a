package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/app"
)

func (e *env) agentsCredentialCmd() *cobra.Command {
	var in app.KeepCredential
	var cred credentialFlags
	c := &cobra.Command{
		Use: "credential ID", Short: "Give an agent what it wants to be shown: a token, a password, a key, a certificate",
		Long: "Kept in the vault, in place of the one before, and shown to one address only: where the agent is called, or " +
			"--origin.\nA secret is read from an environment VARIABLE, from a file (@path), or from standard input (-), so that " +
			"it stands in no process list and no history.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			got, err := cred.credential(e.stdin)
			if err == nil && got == nil {
				err = errors.New("say what it is: --bearer, --basic, --api-key or --cert")
			}
			if err != nil {
				return &codedError{exitUsage, err}
			}
			got.Origin = in.Credential.Origin
			in.ID, in.Credential = args[0], *got
			var kept app.KeptCredential
			if err := e.call(cmd.Context(), "agents.credential", in, &kept); err != nil {
				return err
			}
			fmt.Fprintln(e.stderr, kept.Where)
			return e.print(kept, func() { fmt.Fprintf(e.stdout, "%s\t%s\n", kept.Kind, kept.Origin) })
		},
	}
	cred.add(c)
	c.Flags().StringVar(&in.Credential.Origin, "origin", "", "the address it may go to (default: where the agent is called)")
	return e.readable(c)
}

// credentialFlags are the ways to give a secret on the command line: by environment variable, file or standard input, so
// that it stands in no process list and no history.
type credentialFlags struct {
	bearer, basic, apiKey, in, cert, key string
}

func (f *credentialFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.bearer, "bearer", "", "sign in with the bearer token in environment `VARIABLE`, in a file: @path, or on standard input: -")
	c.Flags().StringVar(&f.basic, "basic", "", "sign in with user:password taken from environment `VARIABLE`, @path or -")
	c.Flags().StringVar(&f.apiKey, "api-key", "", "sign in with an API key: `NAME=VARIABLE`, NAME=@path or NAME=-")
	c.Flags().StringVar(&f.in, "in", "header", "where the API key goes: header, query or cookie")
	c.Flags().StringVar(&f.cert, "cert", "", "show the client certificate in the PEM `file`, over TLS")
	c.Flags().StringVar(&f.key, "key", "", "the PEM `file` with the key to --cert, if it is not in the same file")
	c.MarkFlagsMutuallyExclusive("bearer", "basic", "api-key", "cert")
}

// credential reads what the flags name; nil when none is given.
func (f *credentialFlags) credential(stdin io.Reader) (*app.Credential, error) {
	switch {
	case f.bearer != "":
		s, err := secretFrom(f.bearer, stdin)
		return &app.Credential{Kind: "bearer", Secret: s}, err
	case f.basic != "":
		s, err := secretFrom(f.basic, stdin)
		user, password, ok := strings.Cut(s, ":")
		if err == nil && !ok {
			err = errors.New("--basic wants user:password")
		}
		return &app.Credential{Kind: "basic", User: user, Secret: password}, err
	case f.apiKey != "":
		name, from, ok := strings.Cut(f.apiKey, "=")
		if !ok {
			return nil, errors.New("--api-key wants NAME=VARIABLE, NAME=@path or NAME=-")
		}
		if f.in != "header" && f.in != "query" && f.in != "cookie" {
			return nil, errors.New("--in is header, query or cookie")
		}
		s, err := secretFrom(from, stdin)
		return &app.Credential{Kind: f.in, Name: name, Secret: s}, err
	case f.cert != "":
		pem, err := os.ReadFile(f.cert)
		if err == nil && f.key != "" {
			var key []byte
			key, err = os.ReadFile(f.key)
			pem = append(append(pem, '\n'), key...)
		}
		return &app.Credential{Kind: "certificate", Secret: string(pem)}, err
	case f.key != "":
		return nil, errors.New("--key goes with --cert")
	}
	return nil, nil
}

func secretFrom(where string, stdin io.Reader) (string, error) {
	var b []byte
	var err error
	if path, ok := strings.CutPrefix(where, "@"); ok {
		b, err = os.ReadFile(path)
	} else if where == "-" {
		b, err = io.ReadAll(io.LimitReader(stdin, 1<<20))
	} else if s, ok := os.LookupEnv(where); ok {
		b = []byte(s)
	} else {
		return "", fmt.Errorf("the environment variable %s is not set", where)
	}
	s := strings.TrimRight(string(b), "\r\n")
	if err == nil && s == "" {
		err = fmt.Errorf("there is no secret in %s", where)
	}
	return s, err
}
