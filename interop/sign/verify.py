"""Verifies cards with the Python a2a-sdk 1.x as its client does: python verify.py JWKS CARD…"""
import json
import sys

from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import create_signature_verifier
from jwt.api_jwk import PyJWKSet

keys = PyJWKSet.from_dict(json.load(open(sys.argv[1])))
verify = create_signature_verifier(lambda kid, jku: keys[kid], ["ES256"])
for path in sys.argv[2:]:
    verify(parse_agent_card(json.load(open(path, encoding="utf-8"))))
    print(path, "verified")
