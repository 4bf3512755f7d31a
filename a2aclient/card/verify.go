package card

import (
	"fmt"
	"net/url"
	"slices"

	"parley/a2a"
	"parley/a2a/sign"
)

// Verify says whether a card was signed by one of the keys, and so was the address at which its agent is called. card is
// as it came, at is where from ("" for one that was given itself), in the interface in use. An address that a person gave
// in place of the card's own needs no signature. An *sign.Error says why it is not verified.
func Verify(card []byte, at string, in a2a.AgentInterface, keys *sign.Keys) (*sign.Verified, error) {
	v, err := sign.Verify(card, keys)
	if err != nil {
		return nil, err
	}
	all, err := addressesOf(card, at)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(all, in) {
		return v, nil
	}
	signed, err := addressesOf(v.Signed, at)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(signed, in) {
		return nil, &sign.Error{
			Kind: sign.KindSignature, Message: "The signature does not cover the address at which the agent is called.",
		}
	}
	return v, nil
}

// addressesOf returns the interfaces of a card, repaired like those of one that was found.
func addressesOf(card []byte, at string) ([]a2a.AgentInterface, error) {
	var base *url.URL
	if at != "" {
		var err error
		if base, err = url.Parse(at); err != nil {
			return nil, &sign.Error{Kind: sign.KindCard, Message: "The card's own address cannot be read."}
		}
	}
	found, err := understand(card, base, base)
	if err != nil {
		return nil, &sign.Error{Kind: sign.KindCard, Message: fmt.Sprintf("The signed part of the card cannot be used by itself: %v", err)}
	}
	return append(found.Card.Interfaces, Interfaces(found.Card, at)...), nil
}

// KeysURL returns where the signatures of a card say that their key is published (jku), if that is the origin which the
// card at address came from: nobody else's word counts for whose keys to trust. elsewhere is another place that they
// name, "" for none.
func KeysURL(card *a2a.AgentCard, address string) (own, elsewhere string) {
	origin, err := Origin(address)
	for _, h := range sign.Headers(card.Signatures) {
		u, bad := url.Parse(h.KeysURL)
		if bad != nil || u.User != nil {
			continue
		}
		there, bad := originOf(u)
		if bad != nil {
			continue
		}
		if err == nil && there == origin {
			return h.KeysURL, ""
		}
		if elsewhere == "" {
			elsewhere = h.KeysURL
		}
	}
	return "", elsewhere
}
