package card

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/gowebpki/jcs"

	"parley/a2a"
)

// Hash returns the SHA-256 of a card's canonical form (RFC 8785), by which an approval is pinned. It covers every member
// that some version of the protocol defines, as the agent wrote it, so that nothing a person approved can change unseen;
// members nobody knows, and those that are null, do not count.
func Hash(card []byte) (string, error) {
	// Done on the whole first: JCS refuses duplicate members, which two readers may understand in two ways.
	if _, err := jcs.Transform(card); err != nil {
		return "", a2a.Errorf(a2a.KindParse, "the card is not unambiguous JSON: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(card, &all); err != nil {
		return "", a2a.Errorf(a2a.KindParse, "the card is not a JSON object: %w", err)
	}
	for name, v := range all {
		if !known(name) || string(v) == "null" {
			delete(all, name)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	if b, err = jcs.Transform(b); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// known reports whether some version of the protocol defines the member of a card, in either spelling.
func known(member string) bool {
	switch member {
	case "protocolVersion", "protocol_version", "name", "description", "url", "preferredTransport", "preferred_transport",
		"additionalInterfaces", "additional_interfaces", "supportedInterfaces", "supported_interfaces", "provider",
		"iconUrl", "icon_url", "version", "documentationUrl", "documentation_url", "capabilities",
		"supportsAuthenticatedExtendedCard", "supports_authenticated_extended_card", "authentication",
		"securitySchemes", "security_schemes", "security", "securityRequirements", "security_requirements",
		"defaultInputModes", "default_input_modes", "defaultOutputModes", "default_output_modes", "skills", "signatures":
		return true
	}
	return false
}
