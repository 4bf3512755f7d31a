package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/app"
	"parley/orchestrator"
)

func (e *env) agentsVerifyCmd() *cobra.Command {
	var in app.VerifyAgent
	var keys string
	c := &cobra.Command{
		Use: "verify ID", Short: "Say who signed an agent's card, and trust a key for it",
		Long: "Without a key given, the keys pinned for the agent decide; without any, those that the card's own address " +
			"publishes.\nKeys at another address count only when you name it. Fails when the card is not verified.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.ID = args[0]
			if keys != "" {
				b, err := os.ReadFile(keys)
				if err != nil {
					return err
				}
				in.Keys, in.Source = b, filepath.Base(keys)
			}
			var s app.SignatureInfo
			if err := e.call(cmd.Context(), "agents.verify", in, &s); err != nil {
				return err
			}
			if err := e.print(s, func() { fmt.Fprintln(e.stdout, signatureLine(&s)) }); err != nil {
				return err
			}
			if s.State != orchestrator.SignatureVerified {
				return errQuiet
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&keys, "key", "", "check with the keys in `file`: a JWK set, a JWK, or a public key in PEM")
	f.StringVar(&in.URL, "jwks", "", "check with the keys published at `URL`")
	f.BoolVar(&in.Pin, "pin", false, "trust these keys for the agent from now on, and no others")
	c.MarkFlagsMutuallyExclusive("key", "jwks")
	return e.readable(c)
}

// signatureLine says in one line what is known of a card's signature.
func signatureLine(s *app.SignatureInfo) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.State {
	case orchestrator.SignatureVerified:
		add("verified: signed by %s", s.Fingerprint)
	case orchestrator.SignatureChanged:
		add("changed: %s", s.Why)
	case orchestrator.SignatureFailed:
		add("not verified: %s", s.Why)
	case orchestrator.SignatureOpen:
		add("signed by %s, not verified: %s", s.KeyID, s.Why)
	default:
		return "not signed"
	}
	if s.Source != "" {
		add("keys from %s", s.Source)
	}
	if s.Pinned {
		add("pinned")
	}
	if len(s.Unsigned) > 0 {
		add("not covered: %s", strings.Join(s.Unsigned, ", "))
	}
	return strings.Join(words, "; ")
}
